// Attack: ask for many names whose name servers never answer, so that every thread that looks names up is busy and nobody else
// gets anywhere; and have the failures counted against the upstreams of others.
import { expect, test } from 'vitest';
import { Dialler } from '../../../src/stages/forward/dial/dial.ts';
import { lookupThreads } from '../../../src/stages/forward/dial/fair-lookups.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

test('its own names wait for each other, and those of another sandbox are looked up at once', async () => {
  const base = handMadePolicy({ allow: [{ host: '*.far.example' }] });
  const policy = { ...base, limits: { ...base.limits, connectTimeoutMs: 400 } };
  const asked: string[] = [];
  const dialler = new Dialler({
    policy: () => policy,
    lookup: (host) => {
      asked.push(host);
      return host.startsWith('slow-') ? new Promise(() => {}) : Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    },
    instance: 'test',
    environmentRoots: [],
    onDial: () => {},
  });
  const slow = Array.from({ length: 64 }, (_, i) => dialler.open(`slow-${i}.far.example`, 443, 'noisy'));
  const ends = Promise.allSettled(slow);
  // It is looked up, and that is as far as it goes: no packet leaves for an address that is none for the outside.
  await expect(dialler.open('quick.far.example', 443, 'quiet')).rejects.toMatchObject({
    code: 'upstream.address-refused',
  });
  expect(asked).toContain('quick.far.example');
  // Threads are left for everybody else, whatever it asks for.
  expect(asked.filter((host) => host.startsWith('slow-')).length).toBeLessThan(lookupThreads());
  const refused = (await ends).map((end) => (end as PromiseRejectedResult).reason as object);
  expect(refused).toHaveLength(64);
  for (const one of refused) expect(one).toMatchObject({ code: 'upstream.timeout', rule: 'limits.connect_timeout_ms' });
  expect(refused.at(-1)).toMatchObject({
    cause: { begun: false },
    hint: expect.stringContaining('fewer hosts at a time'),
  });
});
