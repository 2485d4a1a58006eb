import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readClientHello } from '../../../../../src/stages/accept/tls/client-hello.ts';
import { clientHelloBytes } from '../../../../support/client-hello-bytes.ts';

/** The first flight of Node's own TLS. */
function realHello(servername: string | undefined): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        resolve(Buffer.from(chunk));
        done();
      },
    });
    connectTls({ socket, ...(servername === undefined ? {} : { servername }) }).on('error', () => {});
  });
}

describe('the name in a ClientHello', () => {
  test('as a real client writes it', async () => {
    const hello = await realHello('Api.Example');
    expect(readClientHello(hello)).toEqual({ state: 'read', hello: { sni: 'api.example', hiddenName: false } });
    expect(readClientHello(await realHello(undefined))).toMatchObject({ state: 'read', hello: { sni: null } });
  });

  test('in records of any size, and with an encrypted name beside it', () => {
    for (const recordBytes of [1, 3, 50, 16_000]) {
      const bytes = clientHelloBytes({ names: ['api.example'], recordBytes });
      expect(readClientHello(bytes)).toMatchObject({ state: 'read', hello: { sni: 'api.example', hiddenName: false } });
    }
    const ech = clientHelloBytes({ names: ['api.example'], ech: true });
    expect(readClientHello(ech)).toMatchObject({ state: 'read', hello: { hiddenName: true } });
  });

  test('is awaited until all of it is there, and bytes behind it change nothing', () => {
    const bytes = clientHelloBytes({ names: ['api.example'], recordBytes: 60 });
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(readClientHello(bytes.subarray(0, cut)).state, String(cut)).toBe('more');
    }
    const behind = Buffer.concat([bytes, Buffer.from([0x16, 3, 1, 0, 1, 0])]);
    expect(readClientHello(behind)).toEqual(readClientHello(bytes));
  });

  test.each<[string, Buffer]>([
    ['two names in two extensions', clientHelloBytes({ names: ['a.example', 'b.example'] })],
    ['two names in one extension', clientHelloBytes({ names: ['a.example'], second: 'b.example' })],
    ['an empty name', clientHelloBytes({ names: [''] })],
    ['another message', Buffer.from([0x16, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['an empty record', Buffer.from([0x16, 3, 1, 0, 0, 1])],
    ['a record of another kind', Buffer.from([0x16, 3, 1, 0, 1, 1, 0x17, 3, 1, 0, 1, 0])],
    ['a hello of a megabyte', Buffer.from([0x16, 3, 1, 0, 4, 1, 0x10, 0, 0])],
    ['a record larger than a record', Buffer.from([0x16, 3, 1, 0x50, 0, 1])],
  ])('%s is refused', (_what, bytes) => {
    expect(readClientHello(bytes).state).toBe('bad');
  });

  test('what does not begin like TLS is not TLS', () => {
    for (const text of ['GET / HTTP/1.1\r\n', 'SSH-2.0', '\x80\x2e\x01', '\0']) {
      expect(readClientHello(Buffer.from(text, 'latin1')).state).toBe('not-tls');
    }
  });

  test('no byte that is changed makes it throw, read past its end, or find a name that is not there', () => {
    const base = clientHelloBytes({ names: ['api.example'], ech: true });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        (changes) => {
          const bytes = Buffer.from(base);
          for (const [at, value] of changes) bytes[at] = value;
          const reading = readClientHello(bytes);
          expect(['more', 'not-tls', 'bad', 'read']).toContain(reading.state);
          const sni = reading.state === 'read' ? reading.hello.sni : null;
          if (sni !== null) expect(bytes.toString('latin1').toLowerCase()).toContain(sni);
        },
      ),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
        const bytes = Buffer.concat([Buffer.from([0x16, 3, 1]), noise]);
        expect(['more', 'bad', 'read']).toContain(readClientHello(bytes).state);
      }),
      { numRuns: 1000 },
    );
  });
});
