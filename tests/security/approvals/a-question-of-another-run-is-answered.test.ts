// Attack: count on the names of questions. A person reads `q4`, the gateway restarts, and their answer goes to whatever is
// the fourth question now; or a sandbox reads out of the name of its own access request how much others have asked for.
import { expect, test } from 'vitest';
import { anAccessRequest, askedFor } from '../../support/approvals-ground.ts';
import { openPeople } from '../../support/people-ground.ts';

const by = 'user 0';

function openRun() {
  const { people } = openPeople();
  people.watching();
  const ask = (path: string): string => {
    void people.asking.ask(askedFor(path), new AbortController().signal);
    return people.questions.list().at(-1)!.id;
  };
  return { people, ask };
}

test('a name that was read before a restart answers nothing after it', async () => {
  const before = openRun();
  const read = Array.from({ length: 5 }, (_, i) => before.ask(`/${i}`));
  before.people.close();
  const after = openRun();
  const now = Array.from({ length: 5 }, (_, i) => after.ask(`/another/${i}`));
  for (const id of read) {
    const answer = after.people.questions.answer(id, { answer: 'approve', for: 'once', by });
    await expect(answer).rejects.toMatchObject({ status: 404, code: 'question.unknown' });
  }
  expect(after.people.questions.list().map(({ id }) => id)).toEqual(now);
  after.people.close();
});

test('the name of a accessRequest tells nothing of what others have asked', async () => {
  const ids = new Set<string>();
  for (let run = 0; run < 3; run++) {
    const { people, ask } = openRun();
    for (let i = 0; i < 3; i++) ask(`/${i}`);
    const accessRequest = await people.inside.accessRequest('two', anAccessRequest);
    if ('refused' in accessRequest) throw new Error('it was not taken');
    expect(accessRequest.id).toMatch(/^q[a-z0-9]{5}$/);
    ids.add(accessRequest.id);
    people.close();
  }
  // The same was asked each time: what can be counted would be the same as well.
  expect(ids.size).toBe(3);
});
