import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { Wire } from '../../support/wire.ts';
import {
  ask,
  isRunning,
  registered,
  startWorkersGround,
  type WorkersGround,
  workersLine,
} from '../../support/workers-ground.ts';

let ground: WorkersGround;

beforeAll(async () => {
  ground = await startWorkersGround();
  await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
});

afterAll(async () => {
  ground.gateway.kill('SIGCONT');
  await ground.remove();
});

async function openBoth(): Promise<Wire[]> {
  const wires = [await ground.open(), await ground.open()];
  expect(await Promise.all(wires.map((wire) => ask(wire)))).toEqual([200, 200]);
  return wires;
}

test('unregistering holds in a worker that hears nothing: it is ended, and its connections with it', async () => {
  const wires = await openBoth();
  const [deaf] = ground.workers();
  process.kill(deaf!, 'SIGSTOP');
  const reply = await ground.admin('DELETE', '/internal/containers/one');
  expect(reply.status).toBeLessThan(300);
  // When it was acknowledged, it was so.
  expect(isRunning(deaf!)).toBe(false);
  await Promise.all(wires.map((wire) => wire.rest()));
  await eventually(async () => (await workersLine(ground)).startsWith('2 of 2'), 'another has taken its place');
  await expect(ground.open()).rejects.toThrow(/CONNECT was refused/);
});

test('a credential that is removed is so in a worker that hears nothing: it is ended, and whoever waited for it is told', async () => {
  const reply = JSON.parse(await registered(ground, { id: 'private', proof: ['socket'] })) as {
    grant: { socket: string };
  };
  await ground.admin('PUT', '/internal/credentials/far', 'the-value-of-far');
  const [deaf] = ground.workers();
  process.kill(deaf!, 'SIGSTOP');
  // Some of them are handed to it, and it takes none.
  const waiting = Array.from({ length: 8 }, () => connect(reply.grant.socket));
  const ended = waiting.map((socket) => new Promise((resolve) => socket.on('error', () => {}).on('close', resolve)));
  for (const socket of waiting)
    socket.end('GET http://nowhere.example/ HTTP/1.1\r\nHost: nowhere.example\r\n\r\n').resume();
  expect((await ground.admin('DELETE', '/internal/credentials/far')).status).toBe(204);
  expect(isRunning(deaf!)).toBe(false);
  await Promise.all(ended);
  await eventually(async () => (await workersLine(ground)).startsWith('2 of 2'), 'another has taken its place');
}, 120_000);

test('a worker whose gateway has stopped serves nothing, on open connections neither, and serves again when it is back', async () => {
  await registered(ground, { id: 'two', container_ip: '127.0.0.1' });
  const wires = await openBoth();
  ground.gateway.kill('SIGSTOP');
  for (const wire of wires) {
    await eventually(async () => (await ask(wire)) === 500, 'the worker has noticed', 40_000);
    wire.send('GET / HTTP/1.1\r\nHost: far.example\r\n\r\n');
    const { head } = await wire.answer();
    expect(head).toContain('HTTP/1.1 500');
    expect(head.toLowerCase()).toContain('audit.unavailable');
  }
  ground.gateway.kill('SIGCONT');
  await eventually(async () => (await ask(wires[0]!)) === 200, 'it serves again');
  for (const { socket } of wires) socket.destroy();
}, 90_000);
