import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startAdminServer } from '../../../src/gateway/admin/admin-server.ts';
import { RunGateway, type RunGatewayOptions } from '../../../src/gateway/run-gateway.ts';
import { eventually } from '../../support/eventually.ts';
import { type Running, startFake } from './admin/fake-ports.ts';

const ca = { certificate: 'a certificate', key: 'a key' };
let fake: Running;
let registrations: Record<string, unknown>[];
let said: string[];

beforeEach(async () => {
  fake = await startFake();
  registrations = [];
  said = [];
  const register = async (input: unknown) => {
    const record = { id: 'sbx_1', ...(input as object) };
    registrations.push(input as Record<string, unknown>);
    fake.ports.records.set('sbx_1', record);
    return { record, proof: { ca_certificate: 'a certificate', proxy_url: 'http://127.0.0.1:3128', ca } };
  };
  Object.assign(fake.ports, { register });
});

afterEach(() => fake.stop());

const open = (more: Partial<RunGatewayOptions> = {}): Promise<RunGateway> =>
  RunGateway.open({
    home: fake.home,
    cwd: '/',
    entry: '/nowhere',
    ownPath: '',
    env: {},
    config: null,
    writable: [],
    any: true,
    say: (text) => said.push(text),
    ...more,
  });

/** Another process in the place of the one that has died. */
const again = () => startAdminServer({ socketPath: fake.socketPath, ports: fake.ports, onFault: () => {} });
const registration = { id: 'sbx_1', namespace: { pid: 17 } };

describe('a gateway dies under a run', () => {
  test('its user hears so at once, with what to do, and the next one opens the same door with the same CA', async () => {
    const gateway = await open();
    expect((await gateway.registrar.register(registration)).caCertificate).toBe('a certificate');
    await fake.stop();
    await eventually(() => said.length > 0, 'it is said');
    expect(said[0]).toContain('the gateway has ended');
    expect(said[0]).toContain('sallyport up');
    const next = await again();
    await eventually(() => said.length > 1, 'it goes on');
    expect(said[1]).toContain('a gateway serves this sandbox again');
    expect(registrations).toEqual([registration, { id: 'sbx_1', namespace: { pid: 17, ca } }]);
    await gateway.leave();
    expect(said).toHaveLength(2);
    await next.close();
  });

  test('one that follows another configuration, or was started otherwise, is not taken for it', async () => {
    const gateway = await open();
    await gateway.registrar.register(registration);
    const { join } = fake.ports;
    for (const other of [{ config: '/b/sallyport.yaml' }, { kind: 'run' }] as const) {
      await fake.stop();
      await eventually(() => fake.ports.joined === 0, 'it has lost that one');
      let asked = 0;
      fake.ports.join = async (request) => {
        const { answer, lease } = await join(request);
        asked++;
        return { answer: { ...answer, ...other } as typeof answer, lease };
      };
      fake = { ...fake, stop: (await again()).close };
      await eventually(() => asked > 1, 'it has looked twice');
      expect(registrations).toHaveLength(1);
    }
    await gateway.leave();
  });
});

describe('a sandbox that learns', () => {
  test('learns from its registration on, and one that cannot is not registered either', async () => {
    const gateway = await open();
    const learning: string[] = [];
    gateway.afterRegistration = async (id) => void learning.push(id);
    await gateway.registrar.register(registration);
    expect(learning).toEqual(['sbx_1']);
    gateway.afterRegistration = async () => {
      throw new Error('not here');
    };
    await expect(gateway.registrar.register(registration)).rejects.toThrow('not here');
    expect(fake.ports.records.size).toBe(0);
    await gateway.leave();
  });
});

test('a run that is killed has left as well', async () => {
  const gateway = await open();
  expect(fake.ports.joined).toBe(1);
  await gateway.leave();
  await eventually(() => fake.ports.joined === 0, 'it has left');
  const { connect } = await import('node:net');
  const socket = connect(fake.socketPath);
  await once(socket, 'connect');
  const body = JSON.stringify({
    version: '',
    config: null,
    document: null,
    key: '0'.repeat(32),
    variables: {},
    writable: [],
    any: true,
    probe: false,
  });
  const head = 'POST /internal/join HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  socket.write(`${head}${(body.length + 1).toString(16)}\r\n${body}\n\r\n`);
  await eventually(() => fake.ports.joined === 1, 'it has joined');
  socket.destroy();
  await eventually(() => fake.ports.joined === 0, 'the kernel has said that it is gone');
});
