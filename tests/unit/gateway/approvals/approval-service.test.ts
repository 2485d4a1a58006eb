import { describe, expect, test, vi } from 'vitest';
import { AnswerRefused } from '../../../../src/gateway/approvals/answer-refused.ts';
import type { ApprovalOptions } from '../../../../src/gateway/approvals/approval-ports.ts';
import { ApprovalService } from '../../../../src/gateway/approvals/approval-service.ts';
import type { Verdict } from '../../../../src/path/approvals.ts';
import { askedFor, openApprovals } from '../../../support/approvals-ground.ts';

const by = 'user 0';
const once = { answer: 'approve', for: 'once', by } as const;
const forFive = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by } as const;
const shown = '  - { host: ask.example }';
const always = { answer: 'approve', for: 'always', scope: 'host', line: shown, by } as const;
const stays = new AbortController().signal;

function watched(...options: Parameters<typeof openApprovals>) {
  const ground = openApprovals(...options);
  return { ...ground, leave: ground.service.watchers.begin() };
}

describe('a question is answered once, and never by itself with yes', () => {
  test('nobody looks on: no, at once, and nothing waits', async () => {
    const { service, notes } = openApprovals();
    expect(await service.ask(askedFor(), stays)).toEqual({ granted: false, why: 'nobody-watches', by: null });
    expect(service.list()).toEqual([]);
    expect(notes).toEqual([]);
  });

  test('who reloads the page is gone for a moment, and for no longer', async () => {
    const { service, leave, pass } = watched();
    leave();
    pass(4_999);
    const asked = service.ask(askedFor(), stays);
    expect(service.list()).toHaveLength(1);
    pass(1);
    expect(await service.ask(askedFor('/later'), stays)).toMatchObject({ why: 'nobody-watches' });
    // One that was asked while somebody looked on waits for them to come back.
    expect(service.list()).toHaveLength(1);
    await service.answer('q1', once);
    expect(await asked).toMatchObject({ granted: true });
  });

  test('a clock that is set back makes somebody of nobody no longer than that', () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    try {
      const watchers = new ApprovalService({} as ApprovalOptions).watchers;
      watchers.begin()();
      vi.setSystemTime(Date.now() - 3_600_000);
      expect(watchers.isAnybodyThere).toBe(true);
      vi.advanceTimersByTime(5_000);
      expect(watchers.isAnybodyThere).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  test('no answer in time is a no, and is noted', async () => {
    const { service, notes, pass } = watched();
    const asked = service.ask(askedFor(), stays);
    pass(119_999);
    expect(service.list()).toHaveLength(1);
    pass(1);
    expect(await asked).toEqual({ granted: false, why: 'nobody-answered', by: null });
    expect(notes).toMatchObject([{ answer: 'unanswered', sandbox: 'one', request: 'r1', by: null }]);
    await expect(service.answer('q1', once)).rejects.toMatchObject({ reason: 'unknown' });
  });

  test('a gateway that ends says no to what waits, and asks nothing more', async () => {
    const { service, notes } = watched();
    const asked = service.ask(askedFor(), stays);
    service.close();
    expect(await asked).toMatchObject({ granted: false, why: 'nobody-answered' });
    expect(notes).toMatchObject([{ answer: 'unanswered', text: 'the gateway ends' }]);
    expect(await service.ask(askedFor(), stays)).toMatchObject({ why: 'nobody-watches' });
  });

  test('denied and approved are told with who did it', async () => {
    const { service, notes } = watched();
    const [first, second] = [service.ask(askedFor(), stays), service.ask(askedFor(), stays)];
    await service.answer('q1', { answer: 'deny', by });
    await service.answer('q2', once);
    expect(await first).toEqual({ granted: false, why: 'denied', by });
    expect(await second).toEqual({ granted: true, how: 'approve once by user 0' });
    expect(notes.map(({ answer }) => answer)).toEqual(['deny', 'approve once']);
  });

  test('a client that has left, or leaves, waits for nothing', async () => {
    const { service, notes } = watched();
    const leaving = new AbortController();
    const asked = service.ask(askedFor(), leaving.signal);
    leaving.abort();
    expect(await asked).toMatchObject({ granted: false, why: 'gone' });
    expect(await service.ask(askedFor(), leaving.signal)).toMatchObject({ why: 'gone' });
    expect(service.list()).toEqual([]);
    expect(notes.map(({ answer }) => answer)).toEqual(['withdrawn']);
  });

  test('what the journal does not take is not granted; a no stands all the same', async () => {
    const note = () => {
      throw new Error('the disk is full');
    };
    const { service, inForce, written } = watched({ note, noteGrant: note });
    const verdicts: Verdict[] = [];
    const asked = service.ask(askedFor(), stays).then((verdict) => verdicts.push(verdict));
    await expect(service.answer('q1', once)).rejects.toThrow('the disk is full');
    await expect(service.answer('q1', forFive)).rejects.toThrow('the disk is full');
    await expect(service.answer('q1', always)).rejects.toThrow('the disk is full');
    await expect(service.startLearning('one')).rejects.toThrow('the disk is full');
    expect(inForce.set).toEqual({ approvals: [], learning: [] });
    expect(written).toEqual([]);
    expect(service.list()).toHaveLength(1);
    expect(service.approvals()).toEqual([]);
    await service.answer('q1', { answer: 'deny', by });
    await asked;
    expect(verdicts).toMatchObject([{ granted: false, why: 'denied' }]);
  });
});

describe('what waits is bounded', () => {
  test('by sandbox and in all, and room comes back', async () => {
    const { service } = watched();
    const ask = (sandbox: string) => service.ask(askedFor('/', { sandbox }), stays);
    const held = ['one', 'one', 'one'].map(ask);
    expect(service.list()).toHaveLength(3);
    expect(await ask('one')).toMatchObject({ why: 'too-many' });
    held.push(ask('two'), ask('two'));
    expect(await service.ask(askedFor('/', { sandbox: 'three' }), stays)).toMatchObject({ why: 'too-many' });
    await service.answer('q4', { answer: 'deny', by });
    expect(await held[3]).toMatchObject({ why: 'denied' });
    const another = service.ask(askedFor('/', { sandbox: 'three' }), stays);
    await service.answer(service.list().at(-1)!.id, once);
    expect(await another).toMatchObject({ granted: true });
    await service.drop('one');
    for (const gone of await Promise.all(held.slice(0, 3))) expect(gone).toMatchObject({ why: 'gone' });
  });
});

describe('approved for minutes', () => {
  test('it holds everywhere before the answer is given, and others that are the same pass with it', async () => {
    const { service, told, inForce } = watched();
    const same = service.ask(askedFor(), stays);
    const alike = service.ask(askedFor(), stays);
    const [another, elsewhere, carrying] = [
      service.ask(askedFor('/v1/other', { sandbox: 'two' }), stays),
      service.ask(askedFor('/v1/things', { sandbox: 'two' }), stays),
      service.ask(askedFor('/v1/things', { credential: 'key' }), stays),
    ];
    await service.answer('q1', forFive);
    expect(told).toHaveLength(1);
    expect(inForce.set.approvals).toMatchObject([{ id: 'a1', sandbox: 'one', covers: { path: '/v1/things' } }]);
    expect(await same).toMatchObject({ granted: true });
    expect(await alike).toMatchObject({ granted: true });
    expect(service.list().map(({ id }) => id)).toEqual(['q3', 'q4', 'q5']);
    for (const { id } of service.list()) await service.answer(id, { answer: 'deny', by });
    for (const verdict of await Promise.all([another, elsewhere, carrying])) expect(verdict.granted).toBe(false);
  });

  test('there is an end to how many there are, and what was not granted is not noted as if it were', async () => {
    const { service, notes } = watched();
    for (let i = 1; i <= 1001; i++) {
      const asked = service.ask(askedFor(`/${i}`), stays);
      if (i <= 1000) await service.answer(`q${i}`, forFive);
      else await expect(service.answer(`q${i}`, forFive)).rejects.toThrow('1000 approvals are in force already');
      if (i > 1000) await service.drop('one');
      await asked;
    }
    expect(notes.filter(({ answer }) => answer === 'approve for 5 minutes')).toHaveLength(1000);
  });

  test.each([0, 1441, 1.5, Number.NaN])('%s minutes are no answer', async (minutes) => {
    const { service, inForce } = watched();
    void service.ask(askedFor(), stays);
    await expect(service.answer('q1', { ...forFive, minutes })).rejects.toBeInstanceOf(AnswerRefused);
    expect(inForce.set.approvals).toEqual([]);
  });

  test.each([
    ['more than one method', { method: 'POST (as DELETE)' }],
    ['a path that was not shown whole', { path: `/${'x'.repeat(1022)}…` }],
  ])('%s is approved once only', async (_what, asked) => {
    const { service } = watched();
    const held = service.ask(askedFor('/', asked), stays);
    await expect(service.answer('q1', forFive)).rejects.toMatchObject({ reason: 'not-so' });
    await service.answer('q1', once);
    expect(await held).toMatchObject({ granted: true });
  });

  test('of an effect on GitHub: on this repository, or on every one', async () => {
    const { service, inForce } = watched();
    const shownEffect = { effect: 'release', repository: 'acme/widgets', credential: 'key' };
    const release = { rule: 'github.effects.bot.ask', ...shownEffect };
    const about = { scheme: 'https', host: 'ask.example', port: 443, ...shownEffect } as const;
    void service.ask(askedFor('/repos/acme/widgets/releases', release), stays);
    await service.answer('q1', forFive);
    expect(inForce.coversEffect('one', about)).toBe(true);
    expect(inForce.coversEffect('one', { ...about, repository: 'acme/secrets' })).toBe(false);
    expect(inForce.coversEffect('two', about)).toBe(false);
    void service.ask(askedFor('/repos/acme/widgets/releases', release), stays);
    await service.answer('q2', { ...forFive, scope: 'host' });
    expect(inForce.coversEffect('one', { ...about, repository: 'acme/secrets' })).toBe(true);
    expect(inForce.coversEffect('one', { ...about, effect: 'merge' })).toBe(false);
  });

  test('it is over by the clock, when it is ended, and when the sandbox goes', async () => {
    const { service, pass, inForce, notes } = watched();
    for (const id of ['q1', 'q2', 'q3']) {
      void service.ask(askedFor(`/${id}`), stays);
      await service.answer(id, forFive);
    }
    expect(await service.withdraw('a1', by)).toBe(true);
    expect(await service.withdraw('a1', by)).toBe(false);
    expect(notes.at(-1)).toMatchObject({ answer: 'withdraw', sandbox: 'one', by });
    expect(inForce.set.approvals.map(({ id }) => id)).toEqual(['a2', 'a3']);
    pass(5 * 60_000);
    expect(service.approvals()).toEqual([]);
    void service.ask(askedFor(), stays);
    await service.answer('q4', forFive);
    await service.startLearning('one');
    await service.drop('one');
    expect(inForce.set).toEqual({ approvals: [], learning: [] });
  });
});

describe('approved always', () => {
  test('the line that was shown is written first; only then it passes, with those of other sandboxes', async () => {
    const { service, written, notes } = watched();
    expect(await service.preview('q0', 'host').catch((error: AnswerRefused) => error.reason)).toBe('unknown');
    const held = service.ask(askedFor(), stays);
    const other = service.ask(askedFor('/elsewhere', { sandbox: 'two' }), stays);
    expect(await service.preview('q1', 'host')).toEqual({
      file: '/sallyport.yaml',
      line: 3,
      text: shown,
      covers: 'all of ask.example',
    });
    expect(written).toEqual([]);
    await service.answer('q1', always);
    expect(written).toEqual(['ask.example']);
    expect(await held).toMatchObject({ granted: true });
    expect(await other).toMatchObject({ granted: true });
    expect(notes[0]!.text).toContain('/sallyport.yaml:3: - { host: ask.example }');
  });

  test('one that cannot be written leaves the request waiting, and the journal says so', async () => {
    const write = () => Promise.reject(new AnswerRefused('not-so', 'read-only', 'Do it by hand.'));
    const preview = { file: '/sallyport.yaml', line: 3, text: shown, covers: 'all of it' };
    const { service, notes } = watched({ offerLine: async () => ({ preview, write }) });
    void service.ask(askedFor(), stays);
    await expect(service.answer('q1', always)).rejects.toThrow('read-only');
    expect(service.list()).toHaveLength(1);
    expect(notes.map(({ answer }) => answer)).toEqual(['approve always', 'not written']);
  });

  test.each([
    [null, 'you have not seen the line'],
    ['  - { host: other.example }', 'another line now'],
  ])('a line that is not the one that would be written is not: %s', async (line, why) => {
    const { service, written, notes } = watched();
    void service.ask(askedFor(), stays);
    const refused = { reason: 'moved', message: expect.stringContaining(why), line: { text: shown } };
    await expect(service.answer('q1', { ...always, line })).rejects.toMatchObject(refused);
    expect([written, notes]).toEqual([[], []]);
    expect(service.list()).toHaveLength(1);
  });

  test('two people cannot answer at the same time', async () => {
    const { service } = watched();
    void service.ask(askedFor(), stays);
    const first = service.answer('q1', always);
    await expect(service.answer('q1', { answer: 'deny', by })).rejects.toMatchObject({ reason: 'moved' });
    await first;
  });
});
