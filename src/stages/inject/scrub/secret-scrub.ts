// Replaces every known credential wherever it comes back, by a mask of equal length, so that lengths and framing stay true.
// What comes out does not depend on the pieces in which an answer comes: a byte is masked when a form of a credential
// covers it, and no other byte is changed.
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { reveal, Secret } from '../../../path/secret.ts';
import { CleanTexts } from './clean-texts.ts';
import { isOvergrown, KnownSecrets } from './known-secrets.ts';
import { unfinished } from './match-form.ts';
import { linesOfKey } from './secret-forms.ts';
import { SecretSearch } from './secret-search.ts';

const mask = 0x2a;
const none = Buffer.alloc(0);
/** So few bytes of a beginning tell nothing: every key of a provider begins alike. */
const maxReleasedBytes = 4;

/** Makes the scrub of each answer. All of them share one search, which learns what was noted since it was last used. */
export class Scrubs {
  readonly #known: Pick<KnownSecrets, 'version' | 'all'>;
  #search = new SecretSearch<string>();
  #taken = new Set<Secret>();
  #version = -1;
  readonly #clean = new CleanTexts();

  constructor(known: Pick<KnownSecrets, 'version' | 'all'>) {
    this.#known = known;
  }

  /** For one answer. Null: no credential is known. */
  open(): AnswerScrub | null {
    return this.search.size === 0 ? null : new SecretScrub(this);
  }

  get search(): SecretSearch<string> {
    if (this.#version !== this.#known.version) this.#learn();
    return this.#search;
  }

  /** Whether something is in any of them. They repeat from answer to answer: each is searched once. */
  isInAny(texts: readonly string[][]): boolean {
    const { search } = this;
    const clean = this.#clean.of('', this.#version) ?? this.#clean.addHost('');
    let fresh: string[] | null = null;
    for (const list of texts) {
      for (let i = 0; i < list.length; i++) {
        const text = list[i]!;
        if (text.length < search.minBytes || clean.has(text)) continue;
        fresh ??= [];
        fresh.push(text);
      }
    }
    if (fresh === null) return false;
    // No form has this byte in it.
    if (search.find(Buffer.from(fresh.join('\x01'), 'latin1'), 0)) return true;
    for (const text of fresh) this.#clean.add(clean, text);
    return false;
  }

  #learn(): void {
    this.#version = this.#known.version;
    const all = this.#known.all();
    if (isOvergrown(this.#taken.size, all.length)) {
      this.#search = new SecretSearch();
      this.#taken = new Set();
    }
    // All of them: one that was forgotten and is used again comes last, behind others that are new.
    for (const secret of all) if (!this.#taken.has(secret)) this.#take(secret);
  }

  #take(secret: Secret): void {
    this.#taken.add(secret);
    const value = reveal(secret);
    for (const text of [value, ...linesOfKey(value)]) this.#search.add(Buffer.from(text, 'utf8'), secret.name);
  }
}

const single = new WeakMap<Secret, Scrubs>();

/** Searches for this one alone. Null: too short to be told from what an answer holds anyway. */
export function scrubFor(secret: Secret): AnswerScrub | null {
  let scrubs = single.get(secret);
  if (scrubs === undefined) {
    const known = new KnownSecrets();
    known.note(secret);
    scrubs = new Scrubs(known);
    single.set(secret, scrubs);
  }
  return scrubs.open();
}

/** Asked of the search itself, with a credential that is none: is it found, raw and in another form. */
export function scrubWorks(): boolean {
  const probe = new Secret('probe', 'a-credential-that-is-none');
  const echo = `x ${reveal(probe)} y ${Buffer.from(reveal(probe)).toString('base64')} z`;
  const clean = scrubFor(probe)?.text(echo) ?? echo;
  return !clean.includes('credential') && clean.split('*').length > 40 && clean.length === echo.length;
}

class SecretScrub implements AnswerScrub {
  replaced = 0;
  readonly #scrubs: Scrubs;

  constructor(scrubs: Scrubs) {
    this.#scrubs = scrubs;
  }

  text(text: string): string {
    if (text.length < this.#scrubs.search.minBytes) return text;
    const bytes = Buffer.from(text, 'latin1');
    const { clean } = this.clean(bytes, 0, true);
    return clean === bytes ? text : clean.toString('latin1');
  }

  fields({ names, keys, values }: HeaderList): void {
    // Nearly always there is nothing, and most are too short to hold it.
    if (!this.#scrubs.isInAny([names, values])) return;
    for (let i = 0; i < names.length; i++) {
      values[i] = this.text(values[i]!);
      const name = this.text(names[i]!);
      if (name === names[i]) continue;
      names[i] = name;
      keys[i] = name.toLowerCase();
    }
  }

  openBody(): BodyScrub {
    return new SecretBodyScrub(this);
  }

  /**
   * The bytes without it, themselves if it is not in them. `open`: where an unfinished one begins that more bytes may
   * complete; `settled`: what stands before this may go, being masked or no part of anything. `given`: so many have gone
   * before. `last`: no more will come.
   */
  clean(bytes: Buffer, given: number, last: boolean): Cleaned {
    const { search } = this.#scrubs;
    let clean = bytes;
    let open = -1;
    let covered = 0;
    for (let at = 0; search.find(bytes, at); at = search.start + 1) {
      const { start, end } = search;
      if (open < 0 && search.open && !last) open = start;
      if (end === unfinished) continue;
      // Not in place: who gave the bytes may still hold them.
      if (clean === bytes) clean = Buffer.from(bytes);
      clean.fill(mask, start, end);
      if (open >= 0 && start > Math.max(open, covered)) continue;
      if (start >= covered && end > given) this.replaced++;
      covered = Math.max(covered, end);
    }
    if (open < 0) return { clean, open: bytes.length, settled: bytes.length };
    return { clean, open, settled: Math.max(open, covered) };
  }
}

interface Cleaned {
  readonly clean: Buffer;
  readonly open: number;
  readonly settled: number;
}

class SecretBodyScrub implements BodyScrub {
  readonly #scrub: SecretScrub;
  #held: Buffer = none;
  /** How many of the held bytes have been given out already. */
  #given = 0;

  constructor(scrub: SecretScrub) {
    this.#scrub = scrub;
  }

  get waiting(): number {
    return this.#held.length - this.#given;
  }

  feed(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const given = this.#given;
    const { clean, open, settled } = this.#scrub.clean(bytes, given, false);
    this.#held = open === bytes.length ? none : bytes.subarray(open);
    this.#given = Math.max(0, Math.max(given, settled) - open);
    if (given === 0 && settled === bytes.length) return clean;
    return clean.subarray(Math.min(given, settled), settled);
  }

  end(): Buffer {
    if (this.#held.length === 0) return none;
    const rest = this.#scrub.clean(this.#held, this.#given, true).clean.subarray(this.#given);
    this.#held = none;
    this.#given = 0;
    return rest;
  }

  release(): Buffer {
    if (this.#held.length > maxReleasedBytes) return none;
    const rest = this.#held.subarray(this.#given);
    this.#given = this.#held.length;
    return rest;
  }
}
