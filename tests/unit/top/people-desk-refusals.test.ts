import { expect, test, vi } from 'vitest';
import type { RecordBody } from '../../../src/audit/record.ts';
import { createPeopleDesk, type PeopleParts } from '../../../src/people-desk.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

const refused = {
  time: '2026-11-01T12:00:00.000Z',
  sandbox: 'sbx_a',
  verdict: 'refused',
  told: 'no',
  kind: 'http',
  path: '/x',
  query: null,
} as RecordBody;

function openDesk(registered: Record<string, string>) {
  const onRemoved = vi.fn();
  const people = createPeopleDesk({
    policy: () => handMadePolicy({}),
    registry: { lookUpId: (id: string) => registered[id] && { createdAt: registered[id] }, onRemoved },
    spread: async () => {},
  } as unknown as PeopleParts);
  return { people, onRemoved };
}

test('what a sandbox was refused is told to it, and forgotten when it is unregistered', async () => {
  const since = '2026-11-01T11:00:00.000Z';
  const { people, onRemoved } = openDesk({ sbx_a: since, sbx_b: since });
  people.refusals.take(refused);
  people.refusals.take({ ...refused, sandbox: 'sbx_b' });
  expect(await people.inside.refusalsOf('sbx_a')).toHaveLength(1);
  for (const [removed] of onRemoved.mock.calls as [(id: string) => void][]) removed('sbx_a');
  expect(await people.inside.refusalsOf('sbx_a')).toEqual([]);
  expect(await people.inside.refusalsOf('sbx_b')).toHaveLength(1);
});

test('a refusal that ends after its sandbox has gone is told to nobody, nor to the next of that name', async () => {
  const { people } = openDesk({ sbx_a: '2026-11-01T12:00:00.001Z' });
  people.refusals.take(refused);
  people.refusals.take({ ...refused, sandbox: 'sbx_b' });
  expect(await people.inside.refusalsOf('sbx_a')).toEqual([]);
  expect(await people.inside.refusalsOf('sbx_b')).toEqual([]);
});
