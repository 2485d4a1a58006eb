import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ConnectionPorts, serveClient } from '../../../../src/sandbox/shim/client-connection.ts';
import { readIdentity } from '../../../../src/sandbox/shim/identity.ts';
import { SparedLog } from '../../../../src/sandbox/shim/spared-log.ts';
import { Wire } from '../../../support/wire.ts';
import { makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
let server: Server;

afterEach(() => void server.close());

/** What a client is answered, by a shim with these ports. */
async function answerOf(changed: Partial<ConnectionPorts>): Promise<Record<string, string> & { status: string }> {
  const dial = vi.fn(() => Promise.reject(new Error('not to be dialled')));
  const ports: ConnectionPorts = {
    served: new Set([1000]),
    peerUid: async () => 1000,
    takePlace: () => true,
    identity: () => readIdentity(identities.identity()),
    dial,
    log: { warn: () => {} },
    ...changed,
  };
  server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => void serveClient(client, ports));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const wire = new Wire(client);
  // More than any buffer holds: a client sends all of its request before it looks at the answer.
  const request = `POST http://a.example/ HTTP/1.1\r\n\r\n${'x'.repeat(16 * 1024 * 1024)}`;
  const failed = await new Promise((resolve) => client.write(request, resolve));
  expect(failed ?? null).toBeNull();
  const { head, body } = await wire.answer();
  client.destroy();
  expect(dial).not.toHaveBeenCalled();
  const fields = JSON.parse(body) as Record<string, string>;
  expect(head).toContain(`X-Sallyport-Refused: ${fields.code}`);
  return { ...fields, status: head.slice(9, 12) };
}

describe('a connection is answered in words', () => {
  test('when whose it is cannot be proven, or cannot be asked', async () => {
    const answer = { status: '403', code: 'shim.uid', error: expect.stringContaining('could not prove') };
    expect(await answerOf({ peerUid: async () => null })).toMatchObject(answer);
    expect(await answerOf({ peerUid: () => Promise.reject(new Error('no /proc')) })).toMatchObject(answer);
  });

  test('when it is of a uid that is not served', async () => {
    const answer = await answerOf({ peerUid: async () => 0 });
    expect(answer).toMatchObject({ status: '403', code: 'shim.uid', error: 'this shim does not serve uid 0' });
    expect(answer.hint).toContain('It serves uid 1000.');
  });

  test('when there are too many', async () => {
    expect(await answerOf({ takePlace: () => false })).toMatchObject({ status: '503', code: 'shim.connections' });
  });

  test('when the certificate has ended', async () => {
    const ended = readIdentity(identities.identity({ from: -60, until: -1 }));
    const answer = await answerOf({ identity: () => ended });
    expect(answer).toMatchObject({ status: '502', code: 'shim.identity' });
    expect(answer.hint).toContain('Register the sandbox again');
  });
});

test('what is said too often is counted and not said', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const warn = vi.fn();
    const log = new SparedLog({ warn });
    for (let i = 0; i < 1000; i++) log.warn('no', { uid: 1 });
    expect(warn).toHaveBeenCalledTimes(20);
    vi.advanceTimersByTime(60_000);
    log.warn('no', { uid: 1 });
    expect(warn).toHaveBeenLastCalledWith('no', { uid: 1, unshown_before: 980 });
  } finally {
    vi.useRealTimers();
  }
});
