import { describe, expect, test } from 'vitest';
import { parseAdvertisement } from '../../../../src/protocols/git/advertisement.ts';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { encodePkt, flushPkt } from '../../../../src/protocols/git/pkt-line.ts';
import {
  AdvertisementRewriter,
  pushAdvertisementChange,
  rewriteAdvertisement,
} from '../../../../src/protocols/git/rewrite-advertisement.ts';

const A = 'a'.repeat(40);
const stream = (...lines: (string | null)[]): Buffer =>
  Buffer.concat(lines.map((line) => (line === null ? flushPkt : encodePkt(line))));
const service = ['# service=git-receive-pack\n', null] as const;
const change = { add: ['no-thin'], remove: ['push-cert'] };

describe('only the capability list of the first ref is rewritten', () => {
  const tail = [`${A} refs/heads/push-cert\n`, `${A} refs/heads/z\n`, null] as const;
  const before = stream(...service, `${A} refs/heads/a\0report-status push-cert=1-ab push-certain agent=x\n`, ...tail);
  const after = stream(...service, `${A} refs/heads/a\0report-status push-certain agent=x no-thin\n`, ...tail);

  test('the rest passes byte for byte', () => {
    expect(rewriteAdvertisement(before, change)).toEqual(after);
    expect(parseAdvertisement(after).capabilities).toContain('no-thin');
  });

  test('however the stream is cut', () => {
    for (let cut = 0; cut <= before.length; cut++) {
      const rewriter = new AdvertisementRewriter(change);
      const out = [...rewriter.feed(before.subarray(0, cut)), ...rewriter.feed(before.subarray(cut))];
      rewriter.end();
      expect(Buffer.concat(out)).toEqual(after);
    }
  });

  test('a capability that is there is not added again, and version 1 has its line first', () => {
    const bytes = stream(...service, 'version 1', `${A} capabilities^{}\0 no-thin`, null);
    expect(rewriteAdvertisement(bytes, change)).toEqual(bytes);
    const plain = stream(...service, 'version 1', `${A} capabilities^{}\0quiet`, null);
    expect(parseAdvertisement(rewriteAdvertisement(plain, pushAdvertisementChange)).capabilities).toEqual([
      'quiet',
      'no-thin',
    ]);
  });

  test.each<[string, Buffer]>([
    ['an error of the server', stream(...service, 'ERR no such repository\n')],
    ['a server without refs', stream(...service, null)],
    ['version 2', stream('version 2\n', 'agent=x\n', null)],
  ])('%s passes unchanged', (_, bytes) => {
    expect(rewriteAdvertisement(bytes, change)).toEqual(bytes);
  });

  test('an answer that ends before its first ref, or is no advertisement, is refused', () => {
    expect(() => rewriteAdvertisement(before.subarray(0, 60), change)).toThrow(GitWireError);
    expect(() => rewriteAdvertisement(Buffer.from('<html>'), change)).toThrow(GitWireError);
    expect(() => rewriteAdvertisement(stream('# service=git-receive-pack\n', `${A} refs/a\0x`), change)).toThrow(
      GitWireError,
    );
  });
});
