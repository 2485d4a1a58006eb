// Replaces a credential wherever it comes back, by a mask of equal length, so that lengths and framing stay true. The
// forms of a credential are worked out once and kept as long as the Secret itself.
import type { AnswerScrub, BodyScrub } from '../flow/answer-scrub.ts';
import type { HeaderList } from '../flow/header-list.ts';
import { reveal, Secret } from '../flow/secret.ts';
import { unfinished } from './match-form.ts';
import { minSecretBytes } from './secret-forms.ts';
import { SecretSearch } from './secret-search.ts';

const mask = 0x2a;
const none = Buffer.alloc(0);
/** So few bytes of a beginning tell nothing: every key of a provider begins alike. */
const maxReleasedBytes = 4;

const searches = new WeakMap<Secret, SecretSearch>();

/** Null: too short to be told from what an answer holds anyway. */
export function scrubFor(secret: Secret): AnswerScrub | null {
  let search = searches.get(secret);
  if (search === undefined) {
    const value = Buffer.from(reveal(secret), 'utf8');
    if (value.length < minSecretBytes) return null;
    search = new SecretSearch(value);
    searches.set(secret, search);
  }
  return new SecretScrub(search);
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
  readonly #search: SecretSearch;

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  text(text: string): string {
    if (text.length < this.#search.minBytes) return text;
    const bytes = Buffer.from(text, 'latin1');
    const { clean } = this.clean(bytes, true);
    return clean === bytes ? text : clean.toString('latin1');
  }

  fields({ names, keys, values }: HeaderList): void {
    // Nearly always there is nothing, and most are too short to hold it. No form goes over a line end.
    const { minBytes } = this.#search;
    let long = '';
    for (let i = 0; i < names.length; i++) {
      if (names[i]!.length >= minBytes) long += `${names[i]}\n`;
      if (values[i]!.length >= minBytes) long += `${values[i]}\n`;
    }
    if (long === '' || !this.#search.find(Buffer.from(long, 'latin1'), 0)) return;
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
   * The bytes without it, themselves if it is not in them, and where an unfinished one begins that more bytes may
   * complete. `last`: no more will come.
   */
  clean(bytes: Buffer, last: boolean): { readonly clean: Buffer; readonly open: number } {
    const search = this.#search;
    let clean = bytes;
    let at = 0;
    while (search.find(bytes, at)) {
      if (search.end === unfinished) {
        if (!last) return { clean, open: search.start };
        at = search.start + 1;
        continue;
      }
      // Not in place: who gave the bytes may still hold them.
      if (clean === bytes) clean = Buffer.from(bytes);
      clean.fill(mask, search.start, search.end);
      this.replaced++;
      at = search.end;
    }
    return { clean, open: bytes.length };
  }
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
    const { clean, open } = this.#scrub.clean(bytes, false);
    const given = this.#given;
    this.#held = open === bytes.length ? none : bytes.subarray(open);
    this.#given = Math.max(0, given - open);
    if (given === 0 && open === bytes.length) return clean;
    return clean.subarray(Math.min(given, open), open);
  }

  end(): Buffer {
    if (this.#held.length === 0) return none;
    const rest = this.#scrub.clean(this.#held, true).clean.subarray(this.#given);
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
