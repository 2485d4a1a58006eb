import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../../src/path/secret.ts';
import { OutboundSigns } from '../../../../../src/stages/inject/guard/outbound-signs.ts';
import { KnownSecrets } from '../../../../../src/stages/inject/scrub/known-secrets.ts';
import { Scrubs } from '../../../../../src/stages/inject/scrub/secret-scrub.ts';
import { github, policyOf } from '../authorized-flow.ts';

/** More than are kept. */
const many = 9000;

function token(number: number): Secret {
  return new Secret('app', `${number}-ghs-token-of-many`);
}

/** A clock that never stands still, so that the oldest note is known. */
function ticking(): () => number {
  let now = 0;
  return () => now++;
}

describe('of more credentials than are kept those that were not used for the longest time go', () => {
  test('what was in use stays, a value is kept once, and what has ended goes first', () => {
    const nowMs = ticking();
    const known = new KnownSecrets(nowMs);
    const inUse = new Secret('key', 'a-key-of-many-years');
    const ended = new Secret('key', 'a-token-that-has-ended', { expiresAtMs: -2 * 60 * 60_000 });
    known.note(ended);
    for (let i = 0; i < many; i++) {
      known.note(token(i));
      known.note(inUse);
    }
    known.note(new Secret('key', 'a-key-of-many-years'));
    const all = known.all();
    expect(all.length).toBeLessThanOrEqual(8192);
    expect(all.filter(({ name }) => name === 'key')).toEqual([inUse]);
  });

  test('one that was forgotten and is used again hides no new one from the search', () => {
    const known = new KnownSecrets(ticking());
    const scrubs = new Scrubs(known);
    const old = new Secret('key', 'old-key-0123456789');
    known.note(old);
    for (let i = 0; i < many; i++) known.note(token(i));
    expect(scrubs.open()!.text('old-key-0123456789')).toBe('old-key-0123456789');
    known.note(old);
    expect(scrubs.open()!.text('old-key-0123456789')).toBe('*'.repeat(18));
    for (let i = many; i < 2 * many; i++) known.note(token(i));
    expect(known.all()).not.toContain(old);
    known.note(new Secret('key', 'new-key-0123456789'));
    known.note(old);
    expect(scrubs.open()!.text('a new-key-0123456789 z')).toBe(`a ${'*'.repeat(18)} z`);
  });

  test('what is searched for does not grow without end', () => {
    const known = new KnownSecrets(ticking());
    const policy = policyOf([github]);
    const signs = new OutboundSigns(known, () => policy);
    const sizes: number[] = [];
    for (let i = 0; i <= 2.5 * many; i++) {
      known.note(token(i));
      if (i % (many / 2) === 0) sizes.push(signs.asSent.size);
    }
    expect(Math.max(...sizes)).toBeLessThan(2 * 8192 + many / 2);
    expect(signs.asSent.find(Buffer.from(`a ${2.5 * many}-ghs-token-of-many z`), 0)).toBe(true);
  });
});
