// The first bytes of TLS, damaged: our reader never throws, and the name it finds is the one that OpenSSL finds in the same
// bytes, or OpenSSL wants nothing to do with them. A tunnel is judged by that name alone.
import { Duplex } from 'node:stream';
import { connect, createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { readClientHello } from '../../../src/stages/accept/tls/client-hello.ts';
import { clientHelloBytes } from '../../support/client-hello-bytes.ts';
import { bent, mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { makeTestCa } from '../../support/test-ca.ts';

reportFuzz('TLS ClientHello');

/** What a real client sends first. */
function recordHello(servername: string, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<Buffer> {
  return new Promise((resolve) => {
    const pipe = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        resolve(Buffer.from(chunk));
        done();
      },
    });
    connect({ socket: pipe, servername, maxVersion, ALPNProtocols: ['h2', 'http/1.1'] }).on('error', () => {});
  });
}

let context: SecureContext;
const hellos: Buffer[] = [
  clientHelloBytes({ names: ['api.example'] }),
  clientHelloBytes({ names: ['api.example'], recordBytes: 20 }),
  clientHelloBytes({ names: ['api.example', 'other.example'] }),
  clientHelloBytes({ names: ['api.example'], second: 'other.example' }),
  clientHelloBytes({ names: ['api.example'], ech: true }),
  clientHelloBytes({ names: [] }),
];

/** Complete enough for OpenSSL to go on with. */
const recorded: Buffer[] = [];

beforeAll(async () => {
  context = createSecureContext(makeTestCa().issue(['api.example']));
  for (const name of ['api.example', 'a-longer-name.sub.example', '']) {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) recorded.push(await recordHello(name, version));
  }
  recorded.push(...recorded.map((hello) => inRecords(hello, 100)));
  hellos.push(...recorded);
});

/** The same handshake, cut into smaller records. */
function inRecords(hello: Buffer, bytes: number): Buffer {
  const handshake = hello.subarray(5);
  const count = Math.ceil(handshake.length / bytes);
  return Buffer.concat(
    Array.from({ length: count }, (_, i) => {
      const part = handshake.subarray(i * bytes, (i + 1) * bytes);
      return Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part]);
    }),
  );
}

/** The name OpenSSL sees; null: it goes on without one; `refused`: it does not go on. */
function nameToOpenssl(bytes: Buffer): Promise<string | null | 'refused'> {
  return new Promise((resolve) => {
    const pipe = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        // 22: its hello, so it took ours. Anything else is an alert.
        settle(chunk[0] === 22 ? null : 'refused');
        done();
      },
    });
    const tls = new TLSSocket(pipe, {
      isServer: true,
      secureContext: context,
      SNICallback: (name, done) => {
        settle(name.toLowerCase());
        done(null, context);
      },
    });
    let isSettled = false;
    const settle = (outcome: string | null): void => {
      if (isSettled) return;
      isSettled = true;
      resolve(outcome);
      setImmediate(() => tls.destroy());
    };
    tls.on('error', () => settle('refused'));
    tls.on('_tlsError', () => settle('refused'));
    pipe.push(bytes);
    // Waits for more, with nothing more to come: that is no name either.
    setTimeout(() => settle('refused'), 200).unref();
    tls.resume();
  });
}

describe('a damaged ClientHello', () => {
  test('is read or not, and never throws, however much of it is there', { timeout: fuzzTimeoutMs }, () => {
    let read = 0;
    fuzz(fc.tuple(mutated(hellos), fc.nat(600)), 5_000, ([bytes, length]) => {
      const whole = readClientHello(bytes);
      expect(['more', 'not-tls', 'bad', 'read']).toContain(whole.state);
      // Less of it never reads as another name.
      const part = readClientHello(bytes.subarray(0, length));
      if (part.state === 'read' && whole.state === 'read') expect(part.hello).toEqual(whole.hello);
      if (whole.state === 'read') read++;
    });
    expect(read).toBeGreaterThan(100);
  });

  test('names the host that OpenSSL sees in it, or OpenSSL refuses it', { timeout: fuzzTimeoutMs }, async () => {
    let agreed = 0;
    await fuzzSlowly(fc.oneof(mutated(recorded), bent(recorded)), 600, async (bytes) => {
      const reading = readClientHello(bytes);
      if (reading.state !== 'read') return;
      const seen = await nameToOpenssl(bytes);
      if (seen === 'refused') return;
      agreed++;
      expect(reading.hello.sni).toBe(seen);
    });
    expect(agreed).toBeGreaterThan(40);
  });
});
