import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { RawRequest } from '../../../../../src/path/flow.ts';
import { checkGitHead, withBodyOf, withoutOwnProof } from '../../../../../src/stages/authorize/git/git-head.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf } from '../../../../support/hand-made-flow.ts';

const push = 'application/x-git-receive-pack-request';
const fetch = 'application/x-git-upload-pack-request';

function requestWith(...fields: [string, string][]): RawRequest {
  const canonical = canonicalOf('POST', 'https://github.com/acme/widgets.git/git-receive-pack');
  return acceptedFlow(callerFrom(), canonical, { headers: HeaderList.from(fields) }).request;
}

describe('a request of git has the fields of git', () => {
  test('plain or compressed with gzip, once', () => {
    expect(checkGitHead(requestWith(['Content-Type', push]), 'receive-pack')).toEqual({ isCompressed: false });
    expect(checkGitHead(requestWith(['Content-Type', fetch]), 'upload-pack')).toEqual({ isCompressed: false });
    for (const [encoding, isCompressed] of [
      ['gzip', true],
      ['GZIP', true],
      ['identity', false],
    ] as const) {
      const request = requestWith(['content-type', push], ['Content-Encoding', encoding]);
      expect(checkGitHead(request, 'receive-pack')).toEqual({ isCompressed });
    }
  });

  test.each<[string, [string, string][]]>([
    ['no type', []],
    ['another type', [['Content-Type', 'text/plain']]],
    ['the type of a fetch', [['Content-Type', fetch]]],
    ['a parameter', [['Content-Type', `${push}; charset=utf-8`]]],
    ['other letters', [['Content-Type', push.toUpperCase()]]],
    [
      'two types',
      [
        ['Content-Type', push],
        ['Content-Type', push],
      ],
    ],
  ])('a push with %s is refused', (_, fields) => {
    const refusal = refusalOf(() => checkGitHead(requestWith(...fields), 'receive-pack'));
    expect([refusal.code, refusal.status, refusal.rule]).toEqual([
      'git.malformed',
      400,
      'built-in: git as git speaks it',
    ]);
    expect(refusal.message).toContain(`must be exactly ${push}`);
  });

  test.each<[string[]]>([
    [['deflate']],
    [['x-gzip']],
    [['gzip, gzip']],
    [['br']],
    [['']],
    [['gzip', 'gzip']],
    [['identity', 'gzip']],
  ])('a compression %j is refused', (encodings) => {
    const fields = encodings.map((each): [string, string] => ['Content-Encoding', each]);
    const refusal = refusalOf(() => checkGitHead(requestWith(['Content-Type', push], ...fields), 'receive-pack'));
    expect(refusal.code).toBe('git.malformed');
  });
});

describe('what goes on of a request of git', () => {
  test('never the sandbox’s own proof, under any name', () => {
    const request = requestWith(
      ['Authorization', 'Basic x'],
      ['COOKIE', 'a=b'],
      ['Private-Token', 'x'],
      ['Job-Token', 'x'],
      ['Deploy-Token', 'x'],
      ['Git-Protocol', 'version=2'],
      ['Accept-Encoding', 'gzip'],
    );
    expect(withoutOwnProof(request).names).toEqual(['Git-Protocol', 'Accept-Encoding']);
    expect(withoutOwnProof(request, ['accept-encoding']).names).toEqual(['Git-Protocol']);
    expect(request.headers.has('authorization')).toBe(true);
  });

  test('a body in another form is told by its own length alone', () => {
    const { headers } = requestWith(
      ['Content-Type', push],
      ['Content-Encoding', 'gzip'],
      ['Content-Length', '7'],
      ['Expect', '100-continue'],
    );
    const known = withBodyOf(headers, 42);
    expect([known.names, known.get('content-length')]).toEqual([['Content-Type', 'Content-Length'], '42']);
    expect(withBodyOf(headers, null).names).toEqual(['Content-Type']);
    expect(withBodyOf(headers, 0).get('content-length')).toBe('0');
  });
});
