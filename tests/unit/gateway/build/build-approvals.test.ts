import { describe, expect, test } from 'vitest';
import { askedFor } from '../../../support/approvals-ground.ts';
import { openPeople } from '../../../support/people-ground.ts';

const by = 'user 0';
const stays = new AbortController().signal;

function openWatched() {
  const ground = openPeople();
  ground.people.watching();
  const held = ground.people.asking.ask(askedFor(), stays);
  return { ...ground, held, id: ground.people.questions.list()[0]!.id };
}

describe('while the journal cannot be written', () => {
  test('an approval and learning are refused in words that say what to do, and a no is not', async () => {
    const { people, journal, held, id } = openWatched();
    journal.healthy = false;
    const refused = { status: 503, code: 'audit.unavailable', hint: expect.stringContaining('Free space') };
    const once = people.questions.answer(id, { answer: 'approve', for: 'once', by });
    await expect(once).rejects.toMatchObject(refused);
    await expect(people.startLearning('one')).rejects.toMatchObject(refused);
    expect(journal.notes).toEqual([]);
    await people.questions.answer(id, { answer: 'deny', by });
    expect(await held).toMatchObject({ granted: false, why: 'denied' });
    expect(journal.notes).toMatchObject([{ note: 'approval', answer: 'deny' }]);
  });

  test('and when it can again, both are noted', async () => {
    const { people, journal, held, id } = openWatched();
    await people.questions.answer(id, { answer: 'approve', for: 'once', by });
    await people.startLearning('one');
    expect(await held).toMatchObject({ granted: true });
    expect(journal.notes).toMatchObject([{ answer: 'approve once' }, { answer: 'learn' }]);
  });
});

test('a question that is not there is 404, one that cannot be answered so is 409', async () => {
  const { people, id } = openWatched();
  const forMinutes = { answer: 'approve', for: 'minutes', minutes: 0, scope: 'path', by } as const;
  await expect(people.questions.answer('q0', forMinutes)).rejects.toMatchObject({ code: 'question.unknown' });
  await expect(people.questions.answer(id, forMinutes)).rejects.toMatchObject({ status: 409, code: 'question.not-so' });
  people.close();
});
