// Attack: be served so often that the records of it fill the journal of all. Past its share a sandbox is refused, in words, and
// nobody else is; what it is refused then is counted.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../../support/limits-ground.ts';

const share = 64 * 1024;
let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround({}, { audit: { sandbox_bytes_per_day: share } });
});

afterAll(() => ground.stop());

interface Line {
  readonly sandbox: unknown;
  readonly verdict: unknown;
  readonly upstream: unknown;
}

async function servedOf(id: string): Promise<Line[]> {
  const lines = (await ground.gateway.journal()) as unknown as Line[];
  return lines.filter(({ sandbox, verdict }) => sandbox === id && verdict === 'allowed');
}

const longPath = `/${'漢'.repeat(300)}`;

test('who has written its share is refused with how long to wait, and others are served', {
  timeout: 60_000,
}, async () => {
  const [loud, quiet] = [await ground.sandbox(), await ground.sandbox()];
  let served = 0;
  let told = await ground.ask(loud, hosts.open, encodeURI(longPath));
  for (; told.status === 200 && served < 500; served++) told = await ground.ask(loud, hosts.open, encodeURI(longPath));
  expect(told).toMatchObject({ status: 429, code: 'limit.journal', rule: 'audit.sandbox_bytes_per_day' });
  expect(told.text).toContain('have the operator raise audit.sandbox_bytes_per_day');
  // Until 16 KiB of it are there again.
  expect(told.retryAfter).toBeGreaterThan(3600);
  expect(served).toBeGreaterThan(10);

  // Nothing of it goes out, by no way: a tunnel, a plain request, what a credential is for.
  for (const host of [hosts.open, hosts.keyed, hosts.pinned])
    expect(await ground.ask(loud, host)).toMatchObject({ status: 429, code: 'limit.journal' });
  const after = await eventually(async () => {
    const found = await servedOf(loud.id);
    return found.length >= served ? found : null;
  }, 'what was served is written down');
  expect(after.length).toBeLessThanOrEqual(served + 1);

  // Who keeps to its share does not notice.
  for (let i = 0; i < 10; i++) expect(await ground.ask(quiet, hosts.open)).toMatchObject({ status: 200 });
  expect(await ground.ask(quiet, hosts.pinned)).toMatchObject({ status: 200 });

  // A larger one is in force at once.
  await ground.limit({}, { audit: { sandbox_bytes_per_day: 100 * share } });
  expect(await ground.ask(loud, hosts.open)).toMatchObject({ status: 200 });
});
