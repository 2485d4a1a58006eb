import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AnswerScrub } from '../../../../../src/path/exchange/answer-scrub.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { KnownSecrets } from '../../../../../src/stages/inject/scrub/known-secrets.ts';
import { Scrubs, scrubFor } from '../../../../../src/stages/inject/scrub/secret-scrub.ts';

const key = 'sk-ant/Real+0123%45"67\\89';

function scrubOf(value: string): AnswerScrub {
  const scrub = scrubFor(new Secret('key', value));
  if (scrub === null) throw new Error('nothing to scrub');
  return scrub;
}

/** Feeds the bytes in pieces of these sizes, then the rest. */
function pass(scrub: AnswerScrub, bytes: Buffer, sizes: readonly number[]): Buffer {
  const body = scrub.openBody();
  const out: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    // A copy: nothing may rest on what comes after it in memory.
    out.push(body.feed(Buffer.from(bytes.subarray(at, at + size))));
    at = Math.min(bytes.length, at + size);
  }
  out.push(body.feed(Buffer.from(bytes.subarray(at))), body.end());
  return Buffer.concat(out);
}

/** Characters that some provider may put into a key, and those that are escaped. */
const secrets = fc
  .string({
    unit: fc.constantFrom(...'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789-_.~+/=%\\"&: ü'),
    minLength: 8,
    maxLength: 60,
  })
  // One that ends in the sign of an escape is found before the escape of that sign has ended.
  .filter((text) => new Set(text).size > 6 && text.trim() === text && !/[%\\]$/.test(text));

/** How one character is written: 0 as it is, others escaped where there is such an escape. */
const ways = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 30 });

function escaped(text: string, picks: readonly number[]): string {
  return [...Buffer.from(text, 'latin1')]
    .map((byte, i) => {
      const hex = byte.toString(16).padStart(2, '0');
      const char = String.fromCharCode(byte);
      const pick = picks[i % picks.length]!;
      if (pick === 1) return `%${hex}`;
      if (pick === 2) return `%${hex.toUpperCase()}`;
      if (pick === 3) return `\\u00${hex}`;
      if (pick === 4) return `\\u00${hex.toUpperCase()}`;
      return pick === 5 && '/"\\'.includes(char) ? `\\${char}` : char;
    })
    .join('');
}

interface Written {
  readonly before: string;
  /** What the secret alone decides. */
  readonly core: string;
  readonly after: string;
}

function inBase64(value: string, lead: number, tail: number, encoding: 'base64' | 'base64url'): Written {
  const bytes = Buffer.concat([Buffer.alloc(lead, 0x5f), Buffer.from(value), Buffer.alloc(tail, 0x5f)]);
  const text = bytes.toString(encoding);
  const from = Math.ceil((lead * 8) / 6);
  const to = Math.floor(((lead + Buffer.byteLength(value)) * 8) / 6);
  return { before: text.slice(0, from), core: text.slice(from, to), after: text.slice(to) };
}

const lengths = fc.nat({ max: 20 });
const written = (value: string): fc.Arbitrary<Written> =>
  fc.oneof(
    fc.constant({ before: '', core: Buffer.from(value).toString('latin1'), after: '' }),
    fc
      .tuple(lengths, lengths, fc.constantFrom('base64' as const, 'base64url' as const))
      .map(([lead, tail, encoding]) => inBase64(value, lead, tail, encoding)),
    fc.constantFrom('lower', 'upper').map((letters) => {
      const hex = Buffer.from(value).toString('hex');
      return { before: '', core: letters === 'upper' ? hex.toUpperCase() : hex, after: '' };
    }),
  );

/** Nothing in it can be taken for a part of a secret. */
const neutral = fc.string({ unit: fc.constantFrom('\n', '\t', '\x00', '<', '\xff'), maxLength: 300 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 });

describe('a credential that comes back is replaced', () => {
  test('in any form, escaped in any way, at any place, in any chunks, and nothing else is touched', () => {
    const cases = secrets.chain((value) => fc.tuple(fc.constant(value), written(value), ways, neutral, neutral, sizes));
    fc.assert(
      fc.property(cases, ([value, { before, core, after }, picks, lead, tail, pieces]) => {
        const scrub = scrubOf(value);
        const whole = escaped(core, picks);
        const bytes = Buffer.from(`${lead}${before}${whole}${after}${tail}`, 'latin1');
        const out = pass(scrub, bytes, pieces);
        expect(out.toString('latin1')).toBe(`${lead}${before}${'*'.repeat(whole.length)}${after}${tail}`);
        expect(scrub.replaced).toBe(1);
      }),
      { numRuns: 400 },
    );
  });

  test('whatever stands around it', () => {
    const around = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
    const pieced = fc.tuple(secrets, fc.array(fc.oneof(around, fc.nat({ max: 12 })), { maxLength: 12 }), sizes);
    fc.assert(
      fc.property(pieced, ([value, parts, pieces]) => {
        const plain = Buffer.from(value).toString('latin1');
        // Numbers are beginnings of the secret: near misses.
        const text = parts.map((part) => (typeof part === 'number' ? plain.slice(0, part) : part)).join('') + plain;
        const bytes = Buffer.from(text, 'latin1');
        const out = pass(scrubOf(value), bytes, pieces);
        expect(out.length).toBe(bytes.length);
        expect(out.includes(Buffer.from(value))).toBe(false);
        for (let i = 0; i < out.length; i++) if (out[i] !== bytes[i]) expect(out[i]).toBe(0x2a);
      }),
      { numRuns: 200 },
    );
  });

  test('the whole of a Basic header, whatever the length of the user name', () => {
    for (const user of ['', 'x', 'xy', 'x-access-token', 'oauth2']) {
      const header = `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`;
      const out = scrubOf(key).text(header);
      const left = Buffer.from(out.replaceAll('*', 'A').slice(6), 'base64').toString('latin1');
      expect(left).toContain(user);
      for (let i = 0; i + 3 <= key.length; i++) expect(left.includes(key.slice(i, i + 3))).toBe(false);
    }
  });

  test('as often as it comes', () => {
    const scrub = scrubOf(key);
    expect(scrub.text(`${key}${key} ${encodeURIComponent(key)}`)).toMatch(/^\*+ \*+$/);
    expect(scrub.replaced).toBe(3);
  });
});

describe('an answer without the credential', () => {
  test('comes out as it went in, the same buffers where nothing waits', () => {
    fc.assert(
      fc.property(secrets, fc.uint8Array({ maxLength: 2000 }), sizes, (value, content, pieces) => {
        const bytes = Buffer.from(content);
        expect(pass(scrubOf(value), bytes, pieces).equals(bytes)).toBe(true);
      }),
      { numRuns: 200 },
    );
    const event = Buffer.from('data: {"delta":"words"}\n\n');
    const body = scrubOf(key).openBody();
    expect(body.feed(event)).toBe(event);
    expect(body.waiting).toBe(0);
  });

  test('waits only with what could be the beginning of it', () => {
    const body = scrubOf(key).openBody();
    expect(body.feed(Buffer.from('words sk-a')).toString()).toBe('words ');
    expect(body.waiting).toBe(4);
    expect(body.feed(Buffer.from('!!')).toString()).toBe('sk-a!!');
    expect(body.feed(Buffer.from('!%7')).toString()).toBe('!');
    expect(body.feed(Buffer.from('!')).toString()).toBe('%7!');
    expect(body.feed(Buffer.from('sk-ant')).toString()).toBe('');
    expect(body.end().toString()).toBe('sk-ant');
  });

  test('a credential of a few letters is not looked for: words would be taken for it', () => {
    expect(scrubFor(new Secret('key', 'short'))).toBeNull();
  });
});

describe('a beginning that was given out after a silence', () => {
  test('is short, and what follows it is still replaced', () => {
    const scrub = scrubOf(key);
    const body = scrub.openBody();
    expect(body.feed(Buffer.from('a sk-')).toString()).toBe('a ');
    expect(body.release().toString()).toBe('sk-');
    expect(body.release().toString()).toBe('');
    expect(body.feed(Buffer.from(`${key.slice(3)}!`)).toString()).toBe(`${'*'.repeat(key.length - 3)}!`);
    expect(scrub.replaced).toBe(1);
  });

  test('is not repeated when it was none', () => {
    const body = scrubOf(key).openBody();
    body.feed(Buffer.from('sk'));
    expect(body.release().toString()).toBe('sk');
    expect(body.feed(Buffer.from('y is blue, s')).toString()).toBe('y is blue, ');
    expect(body.end().toString()).toBe('s');
  });

  test('a longer one waits on', () => {
    const body = scrubOf(key).openBody();
    body.feed(Buffer.from(key.slice(0, 5)));
    expect(body.release().length).toBe(0);
    expect(body.waiting).toBe(5);
  });
});

describe('fields', () => {
  test('are cleaned in names and values, and stay otherwise as they are', () => {
    const token = 'tok-0123456789';
    const list = HeaderList.from([
      ['Location', `https://a.example/?k=${token}&x=1`],
      ['Set-Cookie', 'plain=1'],
      [`X-${token}`, 'echo'],
    ]);
    scrubOf(token).fields(list);
    expect(list.values).toEqual([`https://a.example/?k=${'*'.repeat(14)}&x=1`, 'plain=1', 'echo']);
    expect(list.names[2]).toBe(`X-${'*'.repeat(14)}`);
    expect(list.keys[2]).toBe(`x-${'*'.repeat(14)}`);
  });
});

describe('every credential that is known', () => {
  const stars = (count: number): string => '*'.repeat(count);

  test('is replaced in every answer, whichever request it is the answer to', () => {
    const known = new KnownSecrets();
    known.note(new Secret('one', 'first-credential'));
    known.note(new Secret('two', 'second-credential'));
    const scrub = new Scrubs(known).open()!;
    expect(scrub.text('a first-credential, a second-credential')).toBe(`a ${stars(16)}, a ${stars(17)}`);
    expect(scrub.replaced).toBe(2);
  });

  test('nothing is searched while none is known', () => {
    const known = new KnownSecrets();
    const scrubs = new Scrubs(known);
    expect(scrubs.open()).toBeNull();
    known.note(new Secret('one', 'first-credential'));
    expect(scrubs.open()).not.toBeNull();
  });

  test('one that is noted while an answer is under way is replaced from then on', () => {
    const known = new KnownSecrets();
    known.note(new Secret('one', 'first-credential'));
    const body = new Scrubs(known).open()!.openBody();
    expect(body.feed(Buffer.from('minted-token ')).toString()).toBe('minted-token ');
    known.note(new Secret('two', 'minted-token'));
    expect(body.feed(Buffer.from('minted-token ')).toString()).toBe(`${stars(12)} `);
  });

  test('those that are minted by the thousand are covered while they are known, and let go some time after', () => {
    const minted = Array.from({ length: 1200 }, (_, i) => new Secret('minted', `minted-token-${i}-end`));
    const known = { version: 0, all: () => minted.slice(0, known.version) };
    const scrubs = new Scrubs(known);
    const shown = (i: number): string => scrubs.open()!.text(`<minted-token-${i}-end>`);
    for (known.version = 1; known.version < 1200; known.version += 100) scrubs.open();
    for (const i of [0, 99, 100, 101, 777, 1100]) expect(shown(i)).toMatch(/^<\*+>$/);
    known.version = 7;
    expect(shown(6)).toMatch(/^<\*+>$/);
    expect(shown(777)).toBe('<minted-token-777-end>');
  });

  test('when one is the beginning of another, the longer is replaced as a whole, in whatever pieces it comes', () => {
    const known = new KnownSecrets();
    known.note(new Secret('short', 'token-1234'));
    known.note(new Secret('long', 'token-1234-and-more'));
    const body = new Scrubs(known).open()!.openBody();
    // What is masked need not wait for the rest.
    expect(body.feed(Buffer.from('a token-1234')).toString()).toBe(`a ${stars(10)}`);
    expect(body.waiting).toBe(0);
    expect(body.feed(Buffer.from('-and-more!')).toString()).toBe(`${stars(9)}!`);
    expect(body.feed(Buffer.from('token-1234-and-less')).toString()).toBe(`${stars(10)}-and-less`);
  });

  test('a private key is known by each of its lines, whatever ends them', () => {
    const lines = ['MIIEpAIBAAKCAQEA7bq0', 'Zp0fQx93kTq8mU2nVb5c', 'w1yR6s4=='];
    const known = new KnownSecrets();
    known.note(new Secret('app', `-----BEGIN RSA PRIVATE KEY----- ${lines.join(' ')} -----END RSA PRIVATE KEY-----`));
    const clean = new Scrubs(known).open()!.text(`key:\r\n${lines.join('\r\n')}\r\n`);
    expect(clean).toBe(`key:\r\n${stars(20)}\r\n${stars(20)}\r\n${lines[2]}\r\n`);
  });
});

describe('fields that repeat from answer to answer', () => {
  const late = 'tok-late-0123456789abcdef';

  test('a value that was clean is masked from when it is a credential', () => {
    const known = new KnownSecrets();
    known.note(new Secret('key', key));
    const scrubs = new Scrubs(known);
    const seen = (): string | undefined => {
      const fields = HeaderList.from([
        ['X-Request-Id', late],
        ['Content-Type', 'application/json'],
      ]);
      scrubs.open()?.fields(fields);
      return fields.get('x-request-id');
    };
    expect([seen(), seen()]).toEqual([late, late]);
    known.note(new Secret('late', late));
    expect([seen(), seen()]).toEqual(['*'.repeat(late.length), '*'.repeat(late.length)]);
  });

  test('a credential is masked every time, also beside values that are known to be clean', () => {
    const scrub = scrubOf(late);
    for (let i = 0; i < 3; i++) {
      const fields = HeaderList.from([
        ['Server', 'nginx/1.22.1'],
        ['X-Echo', `Bearer ${late}`],
        [late, 'nginx/1.22.1'],
      ]);
      scrub.fields(fields);
      expect(fields.values).toEqual(['nginx/1.22.1', `Bearer ${'*'.repeat(late.length)}`, 'nginx/1.22.1']);
      expect(fields.names[2]).toBe('*'.repeat(late.length));
    }
  });
});
