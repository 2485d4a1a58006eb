import { describe, expect, test } from 'vitest';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { encodePkt, flushPkt } from '../../../../src/protocols/git/pkt-line.ts';
import {
  type ReceivePackRequest,
  ReceivePackRequestReader,
} from '../../../../src/protocols/git/receive-pack-request.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const ZERO = '0'.repeat(40);
const create = (ref: string): string => `${ZERO} ${A} ${ref}`;
const stream = (...lines: (string | Buffer | null)[]): Buffer =>
  Buffer.concat(lines.map((line) => (line === null ? flushPkt : encodePkt(line))));

function read(bytes: Buffer): ReceivePackRequest {
  const reader = new ReceivePackRequestReader();
  reader.feed(bytes);
  return reader.result;
}

function refusal(bytes: Buffer): string {
  try {
    read(bytes);
  } catch (error) {
    if (error instanceof GitWireError) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('the commands of a push are read as the server will read them', () => {
  test('an ordinary push with its pack behind it', () => {
    const caps = ' report-status-v2 side-band-64k object-format=sha1 agent=git/2.39.5 frotz=1';
    const section = stream(`${A} ${B} refs/heads/main\0${caps}`, `${B} ${ZERO} refs/heads/old\n`, null);
    const result = read(Buffer.concat([section, Buffer.from('PACK\0\0\0\x02')]));
    expect(result.commands).toEqual([
      { oldId: A, newId: B, ref: 'refs/heads/main' },
      { oldId: B, newId: ZERO, ref: 'refs/heads/old' },
    ]);
    expect(result.capabilities.has('report-status-v2')).toBe(true);
    expect(result.unknownCapabilities).toEqual(['frotz=1']);
    expect(result).toMatchObject({ agent: 'git/2.39.5', signed: false, packFollows: true });
    expect(result.sectionBytes).toBe(section.length);
    expect(result.rest.toString('latin1')).toBe('PACK\0\0\0\x02');
  });

  test('every cut gives the same result, and the pack begins at the same byte', () => {
    const head = stream(`shallow ${B}`, `${create('refs/heads/a')}\0 push-options`, create('refs/heads/b'), null);
    const bytes = Buffer.concat([head, stream('ci.skip', '', null), Buffer.from('PACK0000')]);
    const whole = read(bytes);
    expect(whole).toMatchObject({ shallow: [B], pushOptions: ['ci.skip', ''] });
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = new ReceivePackRequestReader();
      const before = reader.feed(bytes.subarray(0, cut));
      if (!before) reader.feed(bytes.subarray(cut));
      const { rest, ...others } = reader.result;
      const { rest: wholeRest, ...wholeOthers } = whole;
      expect(others).toEqual(wholeOthers);
      expect(before ? Buffer.concat([rest, bytes.subarray(cut)]) : rest).toEqual(wholeRest);
    }
  });

  test('the probe of four bytes is a push of nothing', () => {
    expect(read(Buffer.from('0000'))).toMatchObject({ commands: [], packFollows: false });
  });

  test('deletions alone bring no pack, and nothing may follow them', () => {
    const deletion = stream(`${A} ${ZERO} refs/heads/x\0 report-status`, null);
    expect(read(deletion).packFollows).toBe(false);
    expect(refusal(Buffer.concat([deletion, Buffer.from('PACK')]))).toBe('malformed');
    const reader = new ReceivePackRequestReader();
    expect(reader.feed(deletion)).toBe(true);
    expect(reader.feed(Buffer.alloc(0))).toBe(true);
    expect(() => reader.feed(Buffer.from('P'))).toThrow(GitWireError);
  });

  test('a push that ends early is not a push', () => {
    const reader = new ReceivePackRequestReader();
    expect(reader.feed(stream(create('refs/heads/a')))).toBe(false);
    expect(() => reader.result).toThrow(GitWireError);
  });

  test.each<[string, Buffer]>([
    ['a short id', stream(`${A.slice(1)} ${B} refs/heads/a`, null)],
    ['an id in upper case', stream(`${A.toUpperCase()} ${B} refs/heads/a`, null)],
    ['two spaces', stream(`${A}  ${B} refs/heads/a`, null)],
    ['a tab between its ids', stream(`${A}\t${B} refs/heads/a`, null)],
    ['a tab before its ref', stream(`${A} ${B}\trefs/heads/a`, null)],
    ['a ref outside refs/', stream(`${A} ${B} HEAD`, null)],
    ['a ref outside refs/ with a slash', stream(`${A} ${B} heads/a`, null)],
    ['a ref git would not accept', stream(`${A} ${B} refs/heads/a..b`, null)],
    ['a line feed before the capabilities', stream(`${A} ${B} refs/heads/a\n\0 report-status`, null)],
    ['neither old nor new', stream(`${ZERO} ${ZERO} refs/heads/a`, null)],
    ['one ref twice', stream(`${A} ${B} refs/heads/a`, `${A} ${ZERO} refs/heads/a`, null)],
    ['capabilities on the second line', stream(create('refs/heads/a'), `${create('refs/heads/b')}\0 atomic`, null)],
    ['two capability lists', stream(`${create('refs/heads/a')}\0 quiet`, `${create('refs/heads/b')}\0 atomic`, null)],
    ['a second NUL', stream(`${create('refs/heads/a')}\0 quiet\0push-options`, null)],
    ['a tab between capabilities', stream(`${create('refs/heads/a')}\0 quiet\tpush-options`, null)],
    ['a flag with a value', stream(`${create('refs/heads/a')}\0 push-options=1`, null)],
    ['a capability twice', stream(`${create('refs/heads/a')}\0 agent=a agent=b`, null)],
    ['an empty line', stream('', null)],
    ['a shallow line after a command', stream(create('refs/heads/a'), `shallow ${A}`, null)],
    ['a capability list on a shallow line', stream(`shallow ${A}\0 quiet`, null)],
    ['a shallow line without an id', stream('shallow x', null)],
    ['a push option of two lines', stream(`${create('refs/heads/a')}\0 push-options`, null, 'a\nb', null)],
    ['a push option with a NUL', stream(`${create('refs/heads/a')}\0 push-options`, null, 'a\0b', null)],
    ['a delimiter in place of the flush', Buffer.concat([stream(create('refs/heads/a')), Buffer.from('0001')])],
    [
      'the pack where push options belong',
      Buffer.concat([stream(`${create('refs/heads/a')}\0 push-options`, null), Buffer.from('PACK')]),
    ],
  ])('%s is refused', (_, bytes) => {
    expect(refusal(bytes)).toBe('malformed');
  });

  test('another object format, and names that are not UTF-8, are not spoken here', () => {
    expect(refusal(stream(`${create('refs/heads/a')}\0 object-format=sha256`, null))).toBe('unsupported');
    const latin = Buffer.from(`${create('refs/heads/caf\u00e9')}`, 'latin1');
    expect(refusal(stream(latin, null))).toBe('unsupported');
  });

  test('ten thousand refs pass and one more does not', () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => create(`refs/heads/${i}`));
    expect(read(stream(...lines, null)).commands).toHaveLength(10_000);
    expect(refusal(stream(...lines, create('refs/heads/more'), null))).toBe('too-large');
  });

  test('a command section that never ends is refused after 4 MiB, whatever it holds', () => {
    const shallow = stream(...Array.from({ length: 1000 }, () => `shallow ${A}`));
    const reader = new ReceivePackRequestReader();
    let fed = 0;
    expect(() => {
      for (; fed < 6 * 1024 * 1024; fed += shallow.length) reader.feed(shallow);
    }).toThrow(GitWireError);
    expect(fed).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  test('a thousand push options pass and one more does not', () => {
    const options = Array.from({ length: 1000 }, () => 'x');
    const head = stream(`${create('refs/heads/a')}\0 push-options`, null);
    expect(read(Buffer.concat([head, stream(...options, null)])).pushOptions).toHaveLength(1000);
    expect(refusal(Buffer.concat([head, stream(...options, 'y', null)]))).toBe('too-large');
  });

  test('a push that was refused stays refused', () => {
    const reader = new ReceivePackRequestReader();
    expect(() => reader.feed(stream('nonsense'))).toThrow(GitWireError);
    expect(() => reader.feed(stream(create('refs/heads/a'), null))).toThrow(GitWireError);
  });
});

describe('a signed push is judged by the commands in its certificate', () => {
  const signature = ['-----BEGIN SSH SIGNATURE-----\n', 'U1NI\n', '-----END SSH SIGNATURE-----\n'];
  const header = ['certificate version 0.1\n', 'pusher x 1 +0000\n', 'nonce n\n'];
  const command = `${create('refs/heads/a')}\n`;
  const signed = (caps: string, ...lines: string[]): Buffer => stream(`push-cert\0${caps}`, ...lines);
  const end = 'push-cert-end\n';

  test('its commands are the commands of the push', () => {
    const bytes = Buffer.concat([signed(' quiet', ...header, '\n', command, ...signature, end), flushPkt]);
    expect(read(bytes)).toMatchObject({
      signed: true,
      commands: [{ oldId: ZERO, newId: A, ref: 'refs/heads/a' }],
      packFollows: true,
    });
  });

  test('push options must be the ones it vouches for', () => {
    const cert = signed(' push-options', ...header, 'push-option a\n', '\n', command, ...signature, end);
    expect(read(Buffer.concat([cert, stream(null, 'a', null)])).pushOptions).toEqual(['a']);
    expect(refusal(Buffer.concat([cert, stream(null, 'b', null)]))).toBe('malformed');
    expect(refusal(Buffer.concat([cert, stream(null, null)]))).toBe('malformed');
  });

  test.each<[string, Buffer]>([
    ['an unsigned command before it', stream(create('refs/heads/b'), 'push-cert\0 quiet', null)],
    [
      'an unsigned command after it',
      stream('push-cert\0', ...header, '\n', command, ...signature, end, `${create('refs/heads/b')}\n`, null),
    ],
    ['no signature', stream('push-cert\0', ...header, '\n', command, end, null)],
    ['no end', stream('push-cert\0', ...header, '\n', command, ...signature, null)],
    ['no commands', stream('push-cert\0', ...header, '\n', ...signature, end, null)],
    ['another version', stream('push-cert\0', 'certificate version 0.2\n', '\n', command, ...signature, end, null)],
    [
      'an empty line hidden in another',
      stream('push-cert\0', header[0]!, 'x\n\n', 'nonce n\n', '\n', command, ...signature, end, null),
    ],
    ['no version', stream('push-cert\0', '\n', command, ...signature, end, null)],
    ['two signatures', stream('push-cert\0', ...header, '\n', command, ...signature, command, ...signature, end, null)],
    [
      'a signature among its headers',
      stream('push-cert\0', ...header, ...signature, '\n', command, ...signature, end, null),
    ],
    ['two lines in one', stream('push-cert\0', ...header, '\n', `${command}${command}`, ...signature, end, null)],
    ['a line without its end', stream('push-cert\0', ...header, '\n', command.trim(), ...signature, end, null)],
    [
      'a NUL in a line',
      stream('push-cert\0', ...header, '\n', `${create('refs/heads/a')}\0b\n`, ...signature, end, null),
    ],
    ['no capability list', stream('push-cert', ...header, '\n', command, ...signature, end, null)],
  ])('a certificate with %s is refused', (_, bytes) => {
    expect(refusal(bytes)).toBe('malformed');
  });
});
