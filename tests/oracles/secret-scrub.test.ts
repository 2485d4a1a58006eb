// The search for credentials against a slow one that is written in another way: any secrets, in any form, in any pieces.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/path/secret.ts';
import { KnownSecrets } from '../../src/stages/inject/scrub/known-secrets.ts';
import { Scrubs } from '../../src/stages/inject/scrub/secret-scrub.ts';
import { spellings, truthOf, writtenForms } from './secret-scrub-truth.ts';

const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i));
const anySecret = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...'abcABC019-_.~+/='), minLength: 6, maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...printable), minLength: 6, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom(...'a%2\\&;u05c'), minLength: 6, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'abü€ 9'), minLength: 6, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'), minLength: 100, maxLength: 200 }),
  )
  .filter((text) => text.trim() === text);

/** Several, among them beginnings and insides of others, and such as begin alike. */
const someSecrets = fc
  .tuple(anySecret, fc.array(fc.tuple(fc.nat({ max: 3 }), anySecret, fc.nat({ max: 20 })), { maxLength: 3 }))
  .map(([first, others]) => {
    const made = others.map(([way, other, at]) => {
      if (way === 0) return first.slice(0, 6 + at);
      if (way === 1) return first.slice(at % 5, 6 + at);
      return way === 2 ? first.slice(0, at) + other : other;
    });
    return [first, ...made.map((text) => text.trim())].filter((text) => Buffer.byteLength(text) >= 6);
  });

/** How it is written: which secret, which form, how each character is spelled, where lines end, what is cut off. */
const writing = fc.record({
  secret: fc.nat(),
  form: fc.nat(),
  picks: fc.oneof(fc.constant([0]), fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 })),
  wrapAt: fc.option(fc.integer({ min: 4, max: 76 }), { freq: 3 }),
  wrap: fc.constantFrom('\n', '\r\n', '\\n'),
  cut: fc.option(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 200 })), { freq: 2 }),
});
const noise = fc.oneof(
  fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.string({ unit: fc.constantFrom(...'ab2%\\&#x;u0/n\n\r "'), maxLength: 40 }),
  fc.constantFrom('', '\n\n', 'data: {"text":"word"}\n\n', '%', '\\', '&'),
);
const parts = fc.array(fc.oneof(noise, writing), { minLength: 1, maxLength: 6 });
const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 });

type Part = string | (typeof writing extends fc.Arbitrary<infer W> ? W : never);

function textOf(values: readonly string[], made: readonly Part[]): string {
  return made
    .map((part) => {
      if (typeof part === 'string') return part;
      const forms = writtenForms(Buffer.from(values[part.secret % values.length]!, 'utf8'));
      const { text, eitherCase, wrapped } = forms[part.form % forms.length]!;
      const written = [...text].map((char, i) => {
        const pick = part.picks[i % part.picks.length]!;
        const shown = eitherCase && pick % 2 === 1 ? char.toUpperCase() : char;
        const all = spellings(shown);
        const line = wrapped && part.wrapAt !== null && i > 0 && i % part.wrapAt === 0 ? part.wrap : '';
        return line + all[pick % all.length]!;
      });
      return part.cut === null ? written.join('') : written.join('').slice(part.cut[0], part.cut[1]);
    })
    .join('');
}

function scrubsOf(values: readonly string[]): Scrubs {
  const known = new KnownSecrets();
  values.forEach((value, i) => {
    known.note(new Secret(`key${i}`, value));
  });
  return new Scrubs(known);
}

/** What is given out after each piece. */
function passed(scrubs: Scrubs, text: string, pieces: readonly number[]): { out: Buffer[]; fed: number[] } {
  const body = scrubs.open()!.openBody();
  const bytes = Buffer.from(text, 'latin1');
  const out: Buffer[] = [];
  const fed: number[] = [];
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    // A copy: nothing may rest on what comes after it in memory.
    out.push(body.feed(Buffer.from(bytes.subarray(at, at + size))));
    at = Math.min(bytes.length, at + size);
    fed.push(at);
  }
  out.push(body.end());
  return { out, fed };
}

describe('what comes out is what a slow search says', () => {
  test('for any secrets in any form, in any pieces, with nothing else changed', () => {
    fc.assert(
      fc.property(someSecrets, parts, sizes, (values, made, pieces) => {
        const text = textOf(values, made);
        const { out } = passed(scrubsOf(values), text, pieces);
        expect(Buffer.concat(out).toString('latin1')).toBe(truthOf(values, text).masked);
      }),
      { numRuns: 150 },
    );
  });

  test('and as text, in one piece', () => {
    fc.assert(
      fc.property(someSecrets, parts, (values, made) => {
        const text = textOf(values, made);
        expect(scrubsOf(values).open()!.text(text)).toBe(truthOf(values, text).masked);
      }),
      { numRuns: 100 },
    );
  });

  test('among a thousand others', () => {
    const others = Array.from({ length: 1000 }, (_, i) => `other-secret-${(i * 7919).toString(36)}-${i}-zzzzzz`);
    const known = new KnownSecrets();
    for (const value of others) known.note(new Secret('other', value));
    const scrubs = new Scrubs(known);
    scrubs.open();
    fc.assert(
      fc.property(fc.nat({ max: 999 }), anySecret, parts, sizes, (pick, value, made, pieces) => {
        known.note(new Secret('key', value));
        const values = [others[pick]!, value];
        const text = textOf(values, made);
        const { out } = passed(scrubs, text, pieces);
        const clean = Buffer.concat(out).toString('latin1');
        const { masked } = truthOf(values, text);
        // Secrets of earlier rounds are known too, and may stand in it by chance.
        expect(clean.length).toBe(text.length);
        for (let i = 0; i < text.length; i++) if (masked[i] === '*') expect(clean[i]).toBe('*');
      }),
      { numRuns: 60 },
    );
  });
});

describe('nothing waits that need not', () => {
  test('after each piece all is out but what could be the beginning of a secret', () => {
    fc.assert(
      fc.property(someSecrets, parts, sizes, (values, made, pieces) => {
        const text = textOf(values, made);
        const { out, fed } = passed(scrubsOf(values), text, pieces);
        let given = 0;
        fed.forEach((end, i) => {
          given += out[i]!.length;
          expect(given).toBe(truthOf(values, text.slice(0, end)).settled);
        });
      }),
      { numRuns: 60 },
    );
  });

  test('after a silence a few bytes are given out at most, and what follows is masked all the same', () => {
    fc.assert(
      fc.property(someSecrets, parts, sizes, (values, made, pieces) => {
        const text = textOf(values, made);
        const body = scrubsOf(values).open()!.openBody();
        let out = '';
        let at = 0;
        const early = new Set<number>();
        for (const size of [...pieces, text.length]) {
          out += body.feed(Buffer.from(text.slice(at, at + size), 'latin1')).toString('latin1');
          at += size;
          const released = body.release().toString('latin1');
          expect(released.length).toBeLessThanOrEqual(4);
          for (let i = 0; i < released.length; i++) early.add(out.length + i);
          out += released;
        }
        out += body.end().toString('latin1');
        const { masked } = truthOf(values, text);
        expect(out.length).toBe(text.length);
        for (let i = 0; i < text.length; i++) expect(out[i]).toBe(early.has(i) ? text[i] : masked[i]);
      }),
      { numRuns: 80 },
    );
  });
});
