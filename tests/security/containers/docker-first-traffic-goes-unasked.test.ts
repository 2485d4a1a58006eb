import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { PretendDocker } from '../../support/pretend-docker.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { Wire } from '../../support/wire.ts';

// All of 127.0.0.0/8 is this machine; this one is no address of an interface, so not the gateway's.
const address = '127.9.0.5';
let folder: string;
let docker: PretendDocker;
let gateway: TestGateway;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-first-'));
  const socket = join(folder, 'docker.sock');
  docker = new PretendDocker(socket, address);
  gateway = await startTestGateway({ allow: [{ host: 'api.example.com' }], docker: { socket } });
  await gateway.register({ id: 'agent', container_id: 'agent' });
  // When it is made, and once more when it is in the registry.
  await eventually(() => docker.inspections === 2, 'Docker was asked about the registration');
});

afterEach(async () => {
  await gateway.stop();
  docker.close();
  rmSync(folder, { recursive: true });
});

async function open(): Promise<Wire> {
  const socket = connect({ host: gateway.host, port: gateway.port, localAddress: address });
  await once(socket, 'connect');
  return new Wire(socket);
}

/** The code of the refusal of a request for a host that nobody may reach. */
async function ask(wire: Wire): Promise<string> {
  wire.send('GET http://nowhere.example/ HTTP/1.1\r\nHost: nowhere.example\r\n\r\n');
  return (JSON.parse((await wire.answer()).body) as { code: string }).code;
}

describe('the first traffic of a container', () => {
  test('is not served before Docker was asked once more, and later traffic needs no question', async () => {
    let answer = (): void => {};
    docker.hold = new Promise((resolve) => {
      answer = resolve;
    });
    const first = await open();
    const asked = ask(first);
    await eventually(() => docker.inspections === 3, 'Docker is asked');
    expect(first.received).toBe('');
    answer();
    expect(await asked).toBe('domain.not-allowed');
    expect(await ask(await open())).toBe('domain.not-allowed');
    expect(docker.inspections).toBe(3);
  });

  test('of one that has another address by then, which nobody told, is a stranger’s', async () => {
    docker.address = '127.9.0.6';
    expect(await ask(await open())).toBe('sandbox.unknown');
  });
});

describe('a connection that is open when Docker falls silent', () => {
  test('is not served on, although its sandbox was known on it', async () => {
    const wire = await open();
    expect(await ask(wire)).toBe('domain.not-allowed');
    docker.deaf = true;
    docker.breakOff();
    await eventually(async () => (await ask(wire)) === 'sandbox.unconfirmed', 'the silence is noticed');
  });
});

describe('the gateway as a whole', () => {
  test('asks the Docker that a changed configuration names, and believes the one before no more', async () => {
    const elsewhere = join(folder, 'other.sock');
    const other = new PretendDocker(elsewhere, '127.9.0.6');
    gateway.writeConfig({ allow: [{ host: 'api.example.com' }], docker: { socket: elsewhere } });
    await gateway.gateway.reload();
    expect(await ask(await open())).toBe('sandbox.unknown');
    expect(other.inspections).toBeGreaterThan(0);
    other.close();
  });

  test('hears Docker no longer than it lives', async () => {
    expect(docker.listeners).toBe(1);
    await gateway.gateway.stop();
    await eventually(() => docker.listeners === 0, 'nobody listens');
  });
});
