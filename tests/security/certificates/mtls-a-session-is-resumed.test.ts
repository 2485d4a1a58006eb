import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askPlainly, dialMtls } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { runClient } from '../../support/run-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});
afterAll(() => ground.stop());

/** The sessions a client was offered by the time it had its first answer. */
async function sessionsOf(socket: TLSSocket): Promise<Buffer[]> {
  const sessions: Buffer[] = [];
  socket.on('session', (session) => sessions.push(session));
  const wire = new Wire(socket);
  wire.send('GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\nConnection: close\r\n\r\n');
  await wire.rest();
  return sessions;
}

describe('every connection shows its certificate anew', () => {
  test('a session of an earlier connection is not taken up again', async () => {
    const offered = await sessionsOf(await dialMtls(ground.port, sandbox, { trusted }));
    for (const session of offered) {
      const again = await dialMtls(ground.port, sandbox, { trusted, session });
      expect(again.isSessionReused()).toBe(false);
      again.destroy();
    }
    const run = await runClient('openssl', [
      ...['s_client', '-connect', `127.0.0.1:${ground.port}`, '-reconnect', '-tls1_3'],
      ...['-cert', ground.file('c.pem', sandbox.certificate), '-key', ground.file('k.pem', sandbox.key)],
    ]);
    expect(run.stdout).toMatch(/^New, /m);
    expect(run.stdout).not.toMatch(/^Reused, /m);
  });

  test('a session does not stand in for a certificate that is not shown, nor for one that is not valid', async () => {
    const offered = await sessionsOf(await dialMtls(ground.port, sandbox, { trusted }));
    for (const session of [undefined, ...offered]) {
      const kept = session === undefined ? {} : { session };
      expect(await askPlainly(ground.port, null, { trusted, ...kept })).toBe('closed');
      expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'sandbox.proof-missing' });
    }
  });

  test('after its sandbox was unregistered a session leads nowhere', async () => {
    const gone = await ground.register({ id: 'gone', proof: ['mtls'] });
    const offered = await sessionsOf(await dialMtls(ground.port, gone, { trusted }));
    await ground.registry.remove('gone');
    for (const session of [undefined, ...offered]) {
      const kept = session === undefined ? {} : { session };
      expect(await askPlainly(ground.port, gone, { trusted, ...kept })).toMatch(/^HTTP\/1\.1 403 /);
    }
  });
});
