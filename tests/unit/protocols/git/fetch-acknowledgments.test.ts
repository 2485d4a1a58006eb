import { describe, expect, test } from 'vitest';
import { AcknowledgmentReader } from '../../../../src/protocols/git/fetch-acknowledgments.ts';
import { renderHaveQuestion } from '../../../../src/protocols/git/fetch-v2.ts';
import { GitRemoteError } from '../../../../src/protocols/git/git-remote-error.ts';
import { GitWireError } from '../../../../src/protocols/git/git-wire-error.ts';
import { delimPkt, encodePkt, flushPkt, PktReader } from '../../../../src/protocols/git/pkt-line.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const said = (...lines: string[]): Buffer => Buffer.concat(lines.map((line) => encodePkt(`${line}\n`)));

function read(answer: Buffer, pieceBytes = answer.length): string[] {
  const reader = new AcknowledgmentReader([A, B]);
  for (let at = 0; at < answer.length; at += pieceBytes) reader.feed(answer.subarray(at, at + pieceBytes));
  return [...reader.end()];
}

function failure(answer: Buffer): GitWireError {
  try {
    read(answer);
  } catch (error) {
    if (error instanceof GitWireError) return error;
    throw error;
  }
  throw new Error('it was read');
}

describe('the commits that a server acknowledges are the ones it has', () => {
  test('of those that were asked about: others would be no answer, and could be without end', () => {
    const C = 'c'.repeat(40);
    expect(failure(Buffer.concat([said('acknowledgments', `ACK ${C}`), flushPkt])).code).toBe('malformed');
  });

  test('none, one, several, with and without line ends, however the answer is cut', () => {
    expect(read(Buffer.concat([said('acknowledgments', 'NAK'), flushPkt]))).toEqual([]);
    const answer = Buffer.concat([said('acknowledgments', `ACK ${A}`), encodePkt(`ACK ${B}`), flushPkt]);
    for (let size = 1; size <= answer.length; size++) expect(read(answer, size)).toEqual([A, B]);
  });

  test('a server that is ready goes on to a pack, which is not read', () => {
    const pack = said('packfile', 'not even a side-band');
    const answer = Buffer.concat([said('acknowledgments', `ACK ${A}`, 'ready'), delimPkt, pack]);
    expect(read(answer)).toEqual([A]);
    expect(read(answer, 7)).toEqual([A]);
    // Also where what follows would not be lines at all.
    expect(read(Buffer.concat([answer, Buffer.from('zzzz')]), 9)).toEqual([A]);
  });
});

describe('an answer that is not one is never taken for "none of them"', () => {
  test.each([
    ['nothing at all', Buffer.alloc(0)],
    ['a title alone', said('acknowledgments')],
    ['no end', said('acknowledgments', `ACK ${A}`)],
    ['half a line', Buffer.from('0010ackn')],
    ['another section', Buffer.concat([said('packfile'), flushPkt])],
    ['an end before the title', flushPkt],
    ['a section break before the title', delimPkt],
    ['a line of another kind', Buffer.concat([said('acknowledgments', `NACK ${A}`), flushPkt])],
    ['what is no id', Buffer.concat([said('acknowledgments', 'ACK main'), flushPkt])],
    ['an id and more', Buffer.concat([said('acknowledgments', `ACK ${A} common`), flushPkt])],
    ['an id too many', Buffer.concat([said('acknowledgments', `ACK ${A}\nACK ${B}`), flushPkt])],
    ['two titles', Buffer.concat([said('acknowledgments', 'acknowledgments'), flushPkt])],
    ['no lines of git', Buffer.from('<html>')],
  ])('%s', (_, answer) => {
    expect(failure(answer).code).toBe('malformed');
  });

  test('an error of the server is told as one, wherever it stands', () => {
    for (const answer of [said('ERR upload-pack: not our ref'), said('acknowledgments', 'ERR gone')]) {
      expect(failure(answer)).toBeInstanceOf(GitRemoteError);
    }
    expect(failure(said('ERR upload-pack: not our ref')).message).toContain('not our ref');
  });
});

describe('the question names what is looked for and asks for no pack', () => {
  const linesOf = (bytes: Buffer): string[] =>
    new PktReader('v2').feed(bytes).map((pkt) => (pkt.kind === 'data' ? pkt.payload.toString().trim() : pkt.kind));
  const abilities = { filter: true, shallow: true, agent: false, objectFormat: false };

  test('a tip that the server has, and each commit; never `done`', () => {
    expect(linesOf(renderHaveQuestion(A, [A, B], abilities))).toEqual([
      'command=fetch',
      'delim',
      'no-progress',
      'filter tree:0',
      `want ${A}`,
      `have ${A}`,
      `have ${B}`,
      'flush',
    ]);
    expect(linesOf(renderHaveQuestion(A, [], { ...abilities, filter: false }))).not.toContain('filter tree:0');
  });

  test('what is no id is not asked about: it could be another line', () => {
    for (const odd of [`${A}\ndone`, 'main', '']) {
      expect(() => renderHaveQuestion(odd, [A], abilities)).toThrow(GitWireError);
      expect(() => renderHaveQuestion(A, [odd], abilities)).toThrow(GitWireError);
    }
  });
});
