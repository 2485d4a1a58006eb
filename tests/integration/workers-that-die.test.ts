import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Wire } from '../support/wire.ts';
import {
  ask,
  host,
  isRefused,
  isRunning,
  keyedHost,
  registered,
  startWorkersGround,
  upWithWorkers,
  type WorkersGround,
  workersLine,
} from '../support/workers-ground.ts';

let ground: WorkersGround;

beforeAll(async () => {
  ground = await startWorkersGround();
  await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
});

afterAll(() => ground.remove());

async function verifies(): Promise<boolean> {
  const { stdout } = await ground.command.run(['audit', 'verify', '--json']);
  return (JSON.parse(stdout) as { ok: boolean }).ok;
}

async function beginSlow(): Promise<Wire> {
  const wire = await ground.open();
  wire.send(`GET /slow HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await wire.until('beginning ');
  return wire;
}

describe('a worker that is killed', () => {
  test('takes only its own connections with it, and another comes in its place', async () => {
    // One after the other, so that they go to one worker and the other in turn.
    const wires = [await beginSlow(), await beginSlow(), await beginSlow(), await beginSlow()];
    const [victim] = ground.workers();
    process.kill(victim!, 'SIGKILL');
    await eventually(() => wires.filter(({ ended }) => ended !== 'open').length === 2, 'its connections have ended');
    const restarted = async (): Promise<boolean> => (await workersLine(ground)) === '2 of 2 live, restarted once';
    await eventually(restarted, 'there are two again');
    expect(ground.workers()).not.toContain(victim);
    const others = wires.filter(({ ended }) => ended === 'open');
    expect(others).toHaveLength(2);
    for (const response of ground.slow.splice(0)) response.end('and end');
    for (const wire of others) expect((await wire.until('0\r\n\r\n')).replace(/[^a-z ]/g, '')).toBe('and end');
    const fresh = await Promise.all([1, 2, 3, 4].map(() => ground.open()));
    expect(await Promise.all(fresh.map((wire) => ask(wire)))).toEqual([200, 200, 200, 200]);
    for (const { socket } of [...wires, ...fresh]) socket.destroy();
    expect(await verifies()).toBe(true);
  });

  test('gives back the places it had, and the new one knows what was set by hand', async () => {
    await ground.admin('PUT', '/internal/credentials/far', 'the-value-of-far');
    ground.writeConfig({ limits: { concurrent_requests: 2 } });
    ground.gateway.kill('SIGHUP');
    await eventually(() => ground.gateway.output().includes('read again'), 'the limit is in force');
    const held = [await beginSlow(), await beginSlow()];
    for (const [index, pid] of ground.workers().entries()) {
      process.kill(pid, 'SIGKILL');
      const line = `2 of 2 live, restarted ${index + 2} times`;
      await eventually(async () => (await workersLine(ground)) === line, 'there are two again');
    }
    await Promise.all(held.map((wire) => wire.rest()));
    const wires = await Promise.all([ground.open(keyedHost), ground.open(keyedHost)]);
    const before = ground.keys.length;
    expect(await Promise.all(wires.map((wire) => ask(wire, '/', keyedHost)))).toEqual([200, 200]);
    expect(ground.keys.slice(before)).toEqual(['the-value-of-far', 'the-value-of-far']);
    for (const { socket } of wires) socket.destroy();
  });
});

describe('a worker that dies before it has taken a connection', () => {
  test('leaves no client waiting, and no descriptor in the gateway', async () => {
    const openFiles = () => readdirSync(`/proc/${ground.gateway.child.pid}/fd`).length;
    const before = openFiles();
    const [victim] = ground.workers();
    process.kill(victim!, 'SIGSTOP');
    // One is handed to the one that is stopped and never comes there; all others go to the other.
    const clients = Array.from({ length: 4 }, () => {
      const socket = connect(ground.gateway.port, '127.0.0.1');
      const client = { socket, isAnswered: false, isClosed: false };
      socket.on('error', () => {});
      socket.on('data', () => {
        client.isAnswered = true;
      });
      socket.on('close', () => {
        client.isClosed = true;
      });
      socket.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return client;
    });
    await eventually(() => clients.filter(({ isAnswered }) => isAnswered).length === 3, 'the others are answered');
    const [waiting] = clients.filter(({ isAnswered }) => !isAnswered);
    process.kill(victim!, 'SIGKILL');
    await eventually(() => waiting!.isClosed, 'its connection is closed');
    for (const { socket } of clients) socket.destroy();
    const areLive = async (): Promise<boolean> => (await workersLine(ground)).startsWith('2 of 2');
    await eventually(areLive, 'there are two again');
    await eventually(() => openFiles() <= before, 'nothing of it is left in the gateway');
  });
});

describe('workers that all die at once', () => {
  test('others open the same doors, though any port would have done and the file names another by now', async () => {
    const { port } = ground.gateway;
    const before = ground.gateway.output().length;
    ground.writeConfig({ listen: { proxy: '127.0.0.2:0', workers: 2 } });
    ground.gateway.kill('SIGHUP');
    await eventually(() => ground.gateway.output().slice(before).includes('read again'), 'the file was read');
    const [first, second] = ground.workers();
    process.kill(first!, 'SIGKILL');
    process.kill(second!, 'SIGKILL');
    const areNew = (): boolean => ground.workers().every((pid) => pid !== first && pid !== second);
    const areLive = async (): Promise<boolean> => areNew() && (await workersLine(ground)).startsWith('2 of 2');
    await eventually(areLive, 'there are two again');
    expect(await isRefused(port)).toBe(false);
    const wires = await Promise.all([1, 2, 3, 4].map(() => ground.open()));
    expect(await Promise.all(wires.map((wire) => ask(wire)))).toEqual([200, 200, 200, 200]);
    for (const { socket } of wires) socket.destroy();
    ground.writeConfig({});
  });
});

describe('a gateway whose own process is killed', () => {
  test('leaves no worker and no door behind, and the next one begins where it ended', async () => {
    const workers = ground.workers();
    const { port } = ground.gateway;
    const wire = await ground.open();
    expect(await ask(wire)).toBe(200);
    ground.gateway.kill('SIGKILL');
    await wire.rest();
    await eventually(() => workers.every((pid) => !isRunning(pid)), 'the workers are gone');
    expect(await isRefused(port)).toBe(true);
    ground.gateway = await upWithWorkers(ground.command);
    const again = await ground.open();
    expect(await ask(again)).toBe(200);
    again.socket.destroy();
    expect(await verifies()).toBe(true);
  });
});

test('a door that cannot be opened is told as by a gateway without workers, and nothing is left running', async () => {
  const { port } = ground.gateway;
  ground.command.writeConfig({ listen: { proxy: `127.0.0.1:${port}`, workers: 2 }, allow: [{ host }] });
  const second = ground.command.start(['up']);
  await second.ended;
  expect(second.output()).toMatch(/a gateway is up already: process \d+/);
  expect(ground.workers()).toHaveLength(2);
});
