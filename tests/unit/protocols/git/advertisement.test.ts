import { describe, expect, test } from 'vitest';
import { AdvertisementReader, parseAdvertisement, peelRefs } from '../../../../src/protocols/git/advertisement.ts';
import { GitRemoteError } from '../../../../src/protocols/git/git-remote-error.ts';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { encodePkt, flushPkt } from '../../../../src/protocols/git/pkt-line.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const stream = (...lines: (string | null)[]): Buffer =>
  Buffer.concat(lines.map((line) => (line === null ? flushPkt : encodePkt(line))));
const service = ['# service=git-receive-pack\n', null] as const;

describe('what a server advertises is read whole or not at all', () => {
  test('refs, haves, shallow commits and capabilities', () => {
    const bytes = stream(
      ...service,
      `${A} refs/heads/main\0report-status push-cert=n agent=git/2\n`,
      `${B} refs/tags/v1\n`,
      `${A} refs/tags/v1^{}\n`,
      `${B} .have\n`,
      `shallow ${B}\n`,
      null,
    );
    const read = parseAdvertisement(bytes);
    expect(read).toEqual({
      service: 'git-receive-pack',
      version: 0,
      capabilities: ['report-status', 'push-cert=n', 'agent=git/2'],
      refs: [
        { id: A, name: 'refs/heads/main' },
        { id: B, name: 'refs/tags/v1' },
        { id: A, name: 'refs/tags/v1^{}' },
      ],
      haves: [B],
      shallow: [B],
    });
    expect(peelRefs(read.refs)).toEqual(
      new Map([
        ['refs/heads/main', A],
        ['refs/tags/v1', A],
      ]),
    );
    const reader = new AdvertisementReader();
    for (const byte of bytes) reader.feed(Buffer.from([byte]));
    expect(reader.end()).toEqual(read);
  });

  test('an empty repository, version 1 and version 2', () => {
    const empty = stream(...service, 'version 1\n', `${'0'.repeat(40)} capabilities^{}\0report-status\n`, null);
    expect(parseAdvertisement(empty)).toMatchObject({ version: 1, refs: [], capabilities: ['report-status'] });
    const v2 = stream('version 2\n', 'agent=git/2\n', 'fetch=shallow filter\n', null);
    expect(parseAdvertisement(v2)).toMatchObject({
      service: null,
      version: 2,
      capabilities: ['agent=git/2', 'fetch=shallow filter'],
    });
  });

  test.each<[string, Buffer]>([
    ['another service', stream('# service=git-upload-archive\n', null, null)],
    ['no flush after the service', stream('# service=git-receive-pack\n', `${A} refs/heads/a\0x\n`, null)],
    ['no capabilities', stream(...service, `${A} refs/heads/a\n`, null)],
    ['capabilities twice', stream(...service, `${A} refs/heads/a\0x\n`, `${A} refs/heads/b\0x\n`, null)],
    ['a line that is no ref', stream(...service, 'hello\0x\n', null)],
    ['a shallow line without an id', stream(...service, `${A} refs/heads/a\0x\n`, 'shallow x\n', null)],
    ['more after the end', stream(...service, `${A} refs/heads/a\0x\n`, null, `${A} refs/heads/b\n`, null)],
    ['no end', stream(...service, `${A} refs/heads/a\0x\n`)],
  ])('one with %s is refused', (_, bytes) => {
    expect(() => parseAdvertisement(bytes)).toThrow(GitWireError);
  });

  test('an error of the server keeps its words, made printable', () => {
    const error = (() => {
      try {
        parseAdvertisement(stream(...service, 'ERR no \x1b[31msuch repository\n'));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(GitRemoteError);
    expect((error as GitRemoteError).remoteText).toBe('no [31msuch repository');
  });

  test('no more is read than the limit', () => {
    const reader = new AdvertisementReader({ maxBytes: 100 });
    expect(() => reader.feed(Buffer.alloc(101, '0'))).toThrow(/more than 100 bytes/);
  });
});
