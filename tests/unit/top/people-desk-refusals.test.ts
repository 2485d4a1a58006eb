import { expect, test, vi } from 'vitest';
import type { RecordBody } from '../../../src/audit/record.ts';
import { createPeopleDesk, type PeopleParts } from '../../../src/people-desk.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

test('what a sandbox was refused is told to it, and forgotten when it is unregistered', async () => {
  const onRemoved = vi.fn();
  const people = createPeopleDesk({
    policy: () => handMadePolicy({}),
    registry: { lookUpId: () => undefined, onRemoved },
    spread: async () => {},
  } as unknown as PeopleParts);
  const refused = { sandbox: 'sbx_a', verdict: 'refused', told: 'no', kind: 'http', query: null } as RecordBody;
  people.refusals.take(refused);
  people.refusals.take({ ...refused, sandbox: 'sbx_b' });
  expect(await people.inside.refusalsOf('sbx_a')).toHaveLength(1);
  for (const [removed] of onRemoved.mock.calls as [(id: string) => void][]) removed('sbx_a');
  expect(await people.inside.refusalsOf('sbx_a')).toEqual([]);
  expect(await people.inside.refusalsOf('sbx_b')).toHaveLength(1);
});
