import { describe, expect, test } from 'vitest';
import { ClientGone } from '../../../../src/path/exchange/client-gone.ts';
import { Refusal } from '../../../../src/path/refusal.ts';
import { oidOf } from '../../../../src/protocols/git/objects/object-id.ts';
import { encodePkt, flushPkt } from '../../../../src/protocols/git/pkt-line.ts';
import { eventually } from '../../../support/eventually.ts';
import { commitText, literalDelta, type Part } from '../../protocols/git/objects/pack-builder.ts';
import { BLOB, blob, COMMIT, lines, packAnswer, REF_DELTA, stage } from './scripted-git-server.ts';

describe('a server is asked only in words it knows', () => {
  test('one that knows filters and depth is asked for single objects', async () => {
    const { open, asked } = stage({ answer: () => packAnswer({ code: BLOB, content: Buffer.from('a') }) });
    await open().objects([blob('a')]);
    expect(asked).toEqual([
      [
        'command=fetch',
        'agent=sallyport',
        'object-format=sha1',
        'delim',
        'ofs-delta',
        'no-progress',
        'deepen 1',
        'filter tree:0',
        `want ${blob('a')}`,
        'done',
        'flush',
      ],
    ]);
  });

  test('one that knows none of it is not told of it', async () => {
    const { open, asked } = stage({
      advertisement: ['version 2', 'ls-refs', 'fetch'],
      answer: () => packAnswer({ code: BLOB, content: Buffer.from('a') }),
    });
    await open().objects([blob('a')]);
    expect(asked).toEqual([
      ['command=fetch', 'delim', 'ofs-delta', 'no-progress', `want ${blob('a')}`, 'done', 'flush'],
    ]);
  });

  test.each([
    ['speaks only the old protocol', [`${'a'.repeat(40)} refs/heads/main\0 agent=git/1.9`], /version 2.*git 2\.18/],
    ['cannot be asked to fetch', ['version 2', 'ls-refs'], /version 2/],
    ['names its objects otherwise', ['version 2', 'ls-refs', 'fetch', 'object-format=sha256'], /SHA-256/],
  ])('one that %s is not asked at all', async (_, advertisement, words) => {
    const { open, asked } = stage({ advertisement });
    const refused = open().commits(['a'.repeat(40)], []);
    await expect(refused).rejects.toMatchObject({ name: 'GitWireError', code: 'unsupported' });
    await expect(refused).rejects.toThrow(words);
    expect(asked).toEqual([]);
  });

  test('what it knows is remembered for each sandbox by itself', async () => {
    const { open, seen } = stage({ answer: () => flushPkt });
    await open('sbx_a').refs(['refs/']);
    await open('sbx_a').refs(['refs/']);
    await open('sbx_b').refs(['refs/']);
    expect(seen).toEqual(['GET', 'POST', 'POST', 'GET', 'POST']);
  });
});

describe('an answer counts only for what can be computed from it', () => {
  test('refs that were not asked for are left out', async () => {
    const [a, b] = ['a'.repeat(40), 'b'.repeat(40)];
    const { open } = stage({ answer: () => lines(`${a} refs/heads/x`, `${b} refs/heads/y`) });
    expect((await open().refs(['refs/heads/y'])).map(({ name }) => name)).toEqual(['refs/heads/y']);
  });

  test('objects that were not asked for are left out', async () => {
    const { open } = stage({
      answer: () =>
        packAnswer({ code: BLOB, content: Buffer.from('a') }, { code: BLOB, content: Buffer.from('other') }),
    });
    expect([...(await open().objects([blob('a')])).keys()]).toEqual([blob('a')]);
  });

  test('another object in the place of the one that was asked for is not it', async () => {
    const { open } = stage({ answer: () => packAnswer({ code: BLOB, content: Buffer.from('another') }) });
    await expect(open().objects([blob('a')])).rejects.toThrow(/left out objects/);
  });

  test('a commit that leans on one outside the answer is an error', async () => {
    const base = commitText('c'.repeat(40), []);
    const { open } = stage({
      answer: () =>
        packAnswer({ code: REF_DELTA, base: oidOf('commit', base), content: literalDelta(base.length, base) }),
    });
    const asked = open().commits(['a'.repeat(40)], []);
    await expect(asked).rejects.toMatchObject({ name: 'GitWireError', code: 'malformed' });
    await expect(asked).rejects.toThrow(/leaves out/);
  });

  test('commits at which the server cut its history off are no history', async () => {
    const text = commitText('c'.repeat(40), ['d'.repeat(40)]);
    const id = oidOf('commit', text);
    const shallow = (marked: string): Buffer =>
      Buffer.concat([
        encodePkt('shallow-info\n'),
        encodePkt(`shallow ${marked}\n`),
        Buffer.from('0001'),
        packAnswer({ code: COMMIT, content: text }),
      ]);
    const cut = stage({ answer: () => shallow(id) });
    await expect(cut.open().commits([id], [])).rejects.toThrow(/shallow/);
    const elsewhere = stage({ answer: () => shallow('e'.repeat(40)) });
    expect([...(await elsewhere.open().commits([id], [])).keys()]).toEqual([id]);
  });

  test('blobs are found behind deltas on blobs, wherever their bases stand', async () => {
    const last = { code: REF_DELTA, base: blob('two'), content: literalDelta(3, Buffer.from('three')) };
    const middle = { code: REF_DELTA, base: blob('one'), content: literalDelta(3, Buffer.from('two')) };
    const first = { code: BLOB, content: Buffer.from('one') };
    const { open } = stage({ answer: () => packAnswer(last, middle, first) });
    const objects = await open().objects([blob('three'), blob('one')]);
    expect(objects.get(blob('three'))).toEqual({ type: 'blob', content: Buffer.from('three') });
    expect(objects.get(blob('one'))?.content.toString()).toBe('one');
  });

  test('a blob that comes back to itself through deltas is read to an end', async () => {
    // So large that what was read is no longer at hand when it is needed again.
    const large = (letter: string): Buffer => Buffer.alloc(9 * 1024 ** 2, letter);
    const change = (from: string, to: string): Part => {
      const base = large(from);
      return { code: REF_DELTA, base: oidOf('blob', base), content: literalDelta(base.length, large(to)) };
    };
    const parts = [{ code: BLOB, content: large('a') }, change('a', 'b'), change('b', 'a'), change('a', 'c')];
    const { open } = stage({ answer: () => packAnswer(...parts) });
    const id = oidOf('blob', large('b'));
    expect((await open().objects([id])).get(id)?.content.equals(large('b'))).toBe(true);
  });

  test('a pack that is whole in an answer that is not is no answer', async () => {
    const { open } = stage({ answer: () => packAnswer({ code: BLOB, content: Buffer.from('a') }).subarray(0, -4) });
    await expect(open().objects([blob('a')])).rejects.toThrow(/cut short/);
  });
});

describe('objects that git leaves out beside others are asked for again', () => {
  /** Gives the first that is wanted and no other. */
  const oneAtATime = (texts: readonly string[]) => (asked: string[]) => {
    const wanted = asked.filter((line) => line.startsWith('want ')).map((line) => line.slice(5));
    const text = texts.find((one) => blob(one) === wanted[0]) ?? '';
    return packAnswer({ code: BLOB, content: Buffer.from(text) });
  };

  test('without those that came, and the last first', async () => {
    const texts = ['a', 'b', 'c'];
    const { open, asked } = stage({ answer: oneAtATime(texts) });
    expect((await open().objects(texts.map(blob))).size).toBe(3);
    const wants = asked.map((question) => question.filter((line) => line.startsWith('want ')));
    expect(wants).toEqual([
      texts.map((text) => `want ${blob(text)}`),
      [`want ${blob('c')}`, `want ${blob('b')}`],
      [`want ${blob('b')}`],
    ]);
  });

  test('but not without end', async () => {
    const texts = [...'abcdefghij'];
    const { open, asked } = stage({ answer: oneAtATime(texts) });
    await expect(open().objects(texts.map(blob))).rejects.toMatchObject({ code: 'too-large' });
    expect(asked).toHaveLength(8);
  });
});

describe('what goes wrong is told in our words', () => {
  test.each([
    ['an error line', encodePkt('ERR upload-pack: not our ref, token gho_123')],
    ['words on band 3', Buffer.concat([encodePkt('packfile\n'), encodePkt('\x03token gho_123')])],
  ])('%s of the server is for the operator alone', async (_, bytes) => {
    const { open } = stage({ answer: () => bytes });
    const refusal = await open()
      .objects([blob('a')])
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      code: 'push.undecided',
      cause: { remoteText: expect.stringContaining('gho_123') },
    });
    expect(`${(refusal as Refusal).message}${(refusal as Refusal).hint}`).not.toContain('gho_123');
  });

  test('an answer that cannot be read is that of the server, not the push', async () => {
    const { open } = stage({ answer: () => Buffer.from('nonsense') });
    await expect(open().refs(['refs/'])).rejects.toThrow(/the answer of git\.example\.com about this push/);
  });

  test('an answer for which there is no room on disk', async () => {
    const { open, spool } = stage({
      answer: () => packAnswer({ code: BLOB, content: Buffer.from('a') }),
      limits: { maxMemoryBytes: 1 },
      spoolBytes: 10,
    });
    await expect(open().objects([blob('a')])).rejects.toMatchObject({ code: 'limit.push-size' });
    expect(spool.bytes).toBe(0);
  });

  test('a client that goes away in the middle of an answer leaves nothing on disk', async () => {
    const ending = new AbortController();
    const { open, spool } = stage({
      limits: { maxMemoryBytes: 1 },
      answer: () => async (to) => {
        to.write(Buffer.concat([encodePkt('packfile\n'), encodePkt('\x01PACK')]));
        await eventually(() => spool.bytes > 0, 'the answer goes to the spool');
        ending.abort();
      },
    });
    await expect(open('sbx_test', ending.signal).objects([blob('a')])).rejects.toThrow(ClientGone);
    await eventually(() => spool.bytes === 0, 'the spool is empty');
  });

  test('objects that are too large in all are not handed out', async () => {
    const { open } = stage({
      answer: () => packAnswer({ code: BLOB, content: Buffer.alloc(101, 'a') }),
      limits: { maxFoundBytes: 100 },
    });
    await expect(open().objects([oidOf('blob', Buffer.alloc(101, 'a'))])).rejects.toMatchObject({ code: 'too-large' });
  });

  test('a list of refs that is too long is not read', async () => {
    const { open } = stage({
      answer: () => lines(...Array.from({ length: 10 }, (_, i) => `${'a'.repeat(40)} refs/heads/${i}`)),
      limits: { maxRefsBytes: 200 },
    });
    await expect(open().refs(['refs/'])).rejects.toMatchObject({ code: 'too-large' });
  });
});
