import { describe, expect, test } from 'vitest';
import { parseAdvertisement } from '../../../../src/protocols/git/advertisement.ts';
import {
  abilitiesOf,
  parseLsRefs,
  renderFetchRequest,
  renderLsRefsRequest,
} from '../../../../src/protocols/git/fetch-v2.ts';
import { FetchAnswerReader } from '../../../../src/protocols/git/fetch-v2-answer.ts';
import { GitRemoteError } from '../../../../src/protocols/git/git-remote-error.ts';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { delimPkt, encodePkt, flushPkt, PktReader } from '../../../../src/protocols/git/pkt-line.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const DELIM = Symbol('delim');
const stream = (...lines: (string | null | typeof DELIM)[]): Buffer =>
  Buffer.concat(lines.map((line) => (line === null ? flushPkt : line === DELIM ? delimPkt : encodePkt(line))));
const linesOf = (bytes: Buffer): string[] =>
  new PktReader('v2').feed(bytes).map((pkt) => (pkt.kind === 'data' ? pkt.payload.toString().trim() : pkt.kind));

describe('a question to the upstream holds what was asked and nothing else', () => {
  test('a fetch of the commits between two points', () => {
    expect(linesOf(renderFetchRequest({ wants: [A], haves: [B], filter: 'tree:0' }))).toEqual([
      'command=fetch',
      'agent=sallyport',
      'object-format=sha1',
      'delim',
      'ofs-delta',
      'no-progress',
      'filter tree:0',
      `want ${A}`,
      `have ${B}`,
      'done',
      'flush',
    ]);
  });

  test('a fetch of single objects, in words that this server knows', () => {
    const question = { wants: [A, B], filter: 'tree:0', depth: 1 } as const;
    expect(linesOf(renderFetchRequest(question, { agent: false, objectFormat: false }))).toEqual([
      'command=fetch',
      'delim',
      'ofs-delta',
      'no-progress',
      'deepen 1',
      'filter tree:0',
      `want ${A}`,
      `want ${B}`,
      'done',
      'flush',
    ]);
    expect(linesOf(renderLsRefsRequest([], { agent: true, objectFormat: false })).slice(0, 3)).toEqual([
      'command=ls-refs',
      'agent=sallyport',
      'delim',
    ]);
  });

  test('what is no id or no prefix never reaches a line', () => {
    expect(() => renderFetchRequest({ wants: [`${A}\nwant ${B}`] })).toThrow(GitWireError);
    expect(() => renderFetchRequest({ wants: [A], haves: ['HEAD'] })).toThrow(GitWireError);
    expect(() => renderFetchRequest({ wants: [] })).toThrow(GitWireError);
    expect(() => renderLsRefsRequest(['refs/heads/a\nsymrefs'])).toThrow(GitWireError);
  });

  test('the refs of the answer, with what tags lead to', () => {
    expect(linesOf(renderLsRefsRequest(['refs/heads/', 'refs/tags/v'])).slice(4)).toEqual([
      'peel',
      'symrefs',
      'ref-prefix refs/heads/',
      'ref-prefix refs/tags/v',
      'flush',
    ]);
    const answer = stream(`${A} HEAD symref-target:refs/heads/main\n`, `${B} refs/tags/v1 peeled:${A}\n`, null);
    expect(parseLsRefs(answer)).toEqual([
      { name: 'HEAD', id: A, peeled: null, symrefTarget: 'refs/heads/main' },
      { name: 'refs/tags/v1', id: B, peeled: A, symrefTarget: null },
    ]);
    expect(() => parseLsRefs(answer.subarray(0, -4))).toThrow(GitWireError);
    expect(() => parseLsRefs(stream('nonsense\n', null))).toThrow(GitWireError);
    expect(() => parseLsRefs(stream(`${A} refs/tags/x peeled:y\n`, null))).toThrow(GitWireError);
    expect(() => parseLsRefs(stream(DELIM, null))).toThrow(GitWireError);
    expect(() => parseLsRefs(stream('ERR denied', null))).toThrow(GitRemoteError);
  });
});

describe('what a server understands is read from its advertisement', () => {
  const advertised = (...words: string[]) => parseAdvertisement(stream(...words.map((word) => `${word}\n`), null));

  test('word by word', () => {
    expect(
      abilitiesOf(
        advertised('version 2', 'agent=git/2.39', 'ls-refs=unborn', 'fetch=shallow filter', 'object-format=sha1'),
      ),
    ).toEqual({ filter: true, shallow: true, agent: true, objectFormat: true });
    expect(abilitiesOf(advertised('version 2', 'ls-refs', 'fetch=wait-for-done'))).toEqual({
      filter: false,
      shallow: false,
      agent: false,
      objectFormat: false,
    });
  });

  test.each([
    ['of the old protocol', advertised(`${A} refs/heads/main\0ls-refs fetch=filter`)],
    ['that does not fetch', advertised('version 2', 'ls-refs', 'fetching=filter')],
    ['that does not list refs', advertised('version 2', 'fetch=filter')],
    ['with another kind of ids', advertised('version 2', 'ls-refs', 'fetch', 'object-format=sha256')],
  ])('one %s cannot be asked', (_, advertisement) => {
    expect(() => abilitiesOf(advertisement)).toThrow(GitWireError);
  });
});

describe('the answer to a fetch is read section by section', () => {
  const answer = stream(
    'acknowledgments\n',
    `ACK ${B}\n`,
    'ready\n',
    DELIM,
    'shallow-info\n',
    `shallow ${A}\n`,
    `unshallow ${B}\n`,
    DELIM,
    'wanted-refs\n',
    `${A} refs/heads/a\n`,
    DELIM,
    'packfile\n',
    '\x02counting\n',
    '\x01PACK',
    '\x02',
    '\x01rest',
    null,
  );

  test('however it is cut', () => {
    for (let cut = 0; cut <= answer.length; cut++) {
      const reader = new FetchAnswerReader();
      const first = reader.feed(answer.subarray(0, cut));
      const second = reader.feed(answer.subarray(cut));
      reader.end();
      expect(second.done).toBe(true);
      expect(Buffer.concat([...first.pack, ...second.pack]).toString()).toBe('PACKrest');
      expect(reader).toMatchObject({ acknowledged: [B], shallow: [A], unshallow: [B] });
      expect(reader.wantedRefs).toEqual([{ id: A, ref: 'refs/heads/a' }]);
    }
  });

  test.each<[string, Buffer]>([
    ['words on band 3', stream('packfile\n', '\x01PACK', '\x03upload-pack: not our ref\n')],
    ['an error line', stream('ERR upload-pack: not our ref\n')],
  ])('%s are the upstream saying no', (_, bytes) => {
    expect(() => new FetchAnswerReader().feed(bytes)).toThrow(GitRemoteError);
    expect(() => new FetchAnswerReader().feed(bytes)).toThrow(/not our ref/);
  });

  test.each<[string, Buffer]>([
    ['cut short', answer.subarray(0, -4)],
    ['without a pack', stream('acknowledgments\n', 'NAK\n', null)],
    ['with more after its end', Buffer.concat([answer, Buffer.from('00')])],
    ['with a line after its end', Buffer.concat([answer, flushPkt])],
    ['with sections out of order', stream('shallow-info\n', DELIM, 'acknowledgments\n', DELIM, 'packfile\n', null)],
    ['with a section that was not asked for', stream('packfile-uris\n', DELIM, 'packfile\n', null)],
    ['on a band that does not exist', stream('packfile\n', '\x04x', null)],
    ['with an empty packet in its pack', stream('packfile\n', '', null)],
    ['with a delimiter in its pack', stream('packfile\n', DELIM, null)],
    ['with an unknown line', stream('acknowledgments\n', `ACK ${A} common\n`, DELIM, 'packfile\n', null)],
    ['that ends with the end of a proxy', Buffer.concat([stream('packfile\n'), Buffer.from('0002')])],
    ['that is empty', flushPkt],
  ])('an answer %s is refused', (_, bytes) => {
    const reader = new FetchAnswerReader();
    expect(() => {
      reader.feed(bytes);
      reader.end();
    }).toThrow(GitWireError);
  });

  test('lines that never come to a pack are not read for ever', () => {
    const lines = Buffer.concat(Array.from({ length: 10_000 }, () => encodePkt('NAK\n')));
    const reader = new FetchAnswerReader();
    reader.feed(stream('acknowledgments\n'));
    expect(() => {
      for (let i = 0; i < 11; i++) reader.feed(lines);
    }).toThrow(/too many lines/);
  });

  test('no more of a pack is taken than the limit', () => {
    const reader = new FetchAnswerReader({ maxPackBytes: 7 });
    expect(() => reader.feed(answer)).toThrow(/more than 7 bytes/);
  });
});
