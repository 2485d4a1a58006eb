// Searches the head of a request: host name, path, query, names and values of fields, as the sandbox sent them. Every
// request pays for it, so what is long enough to hold anything is put together and searched once; where it stands is
// worked out only when something was found.
import { fieldsToSend } from '../../../path/enrich.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Authorized } from '../../../path/flow.ts';
import { type HostPlan, isDropped } from '../host-plan.ts';
import { CleanTexts } from '../scrub/clean-texts.ts';
import { unfinished } from '../scrub/match-form.ts';
import type { SecretSearch } from '../scrub/secret-search.ts';
import { withoutParameters } from '../strip-query.ts';
import type { OutboundPlace } from './outbound-judge.ts';
import type { OutboundSigns, Sign } from './outbound-signs.ts';

const maxFieldName = 64;
/** Between two texts that are searched at once: in no form of anything. */
const apart = '\x01';

export class OutboundHead {
  readonly #signs: OutboundSigns;
  /** Nearly every head fits into it. */
  #scratch = Buffer.allocUnsafeSlow(16 * 1024);
  readonly #clean = new CleanTexts();

  constructor(signs: OutboundSigns) {
    this.#signs = signs;
  }

  /** True: the head holds something that does not belong there. `explain` finds where. */
  isSuspect(flow: Authorized, isAtHome: (sign: Sign) => boolean): boolean {
    const { asSent, folded, version } = this.#signs;
    const { host, rawPath, query } = flow.canonical;
    let clean = this.#clean.of(host, version);
    if (clean === null) {
      if (this.#all(folded, host, () => false).length > 0) return true;
      clean = this.#clean.addHost(host);
    }
    const least = asSent.minBytes;
    let text = rawPath.length >= least ? `${unfold(rawPath)}${apart}` : '';
    if (query !== null && query.length >= least) text += `${unfold(query)}${apart}`;
    let fresh: string[] | null = null;
    const { keys, values } = fieldsToSend(flow);
    for (let i = 0; i < keys.length; i++) {
      const value = values[i]!;
      if (value.length >= least && !clean.has(value) && keys[i] !== 'proxy-authorization') {
        text += `${value}${apart}`;
        fresh ??= [];
        fresh.push(value);
      }
    }
    if (text !== '' && this.#finds(asSent, text, isAtHome)) return true;
    for (const value of fresh ?? []) this.#clean.add(clean, value);
    return this.#hasSuspectName(keys, clean, isAtHome);
  }

  #hasSuspectName(keys: readonly string[], clean: Set<string>, isAtHome: (sign: Sign) => boolean): boolean {
    const { folded } = this.#signs;
    for (const key of keys) {
      // With a mark: as a name it was searched for other things than a value.
      if (key.length < folded.minBytes || clean.has(`${apart}${key}`)) continue;
      if (this.#finds(folded, `${key}${apart}`, isAtHome)) return true;
      this.#clean.add(clean, `${apart}${key}`);
    }
    return false;
  }

  /** Everything in the head that does not belong there and would go out. `plan`: what is removed on the way. */
  *explain(flow: Authorized, plan: HostPlan, isAtHome: (sign: Sign) => boolean): Generator<[Sign, OutboundPlace]> {
    const { canonical } = flow;
    const { asSent, folded } = this.#signs;
    const at = (words: string): OutboundPlace => ({ kind: 'head', words });
    for (const sign of this.#all(folded, canonical.host, isAtHome)) yield [sign, at('the host name')];
    for (const sign of this.#all(asSent, unfold(canonical.rawPath), isAtHome)) yield [sign, at('the path')];
    if (canonical.query !== null) {
      // A placeholder that is taken off never leaves; a real value should not even be there.
      const left = withoutParameters(canonical.query, plan.stripQuery) ?? '';
      for (const sign of this.#all(asSent, unfold(canonical.query), isAtHome)) {
        const leaves = sign.kind === 'value' || this.#all(asSent, unfold(left), isAtHome).includes(sign);
        if (leaves) yield [sign, at('the query')];
      }
    }
    const { keys, values } = fieldsToSend(flow);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (key === 'proxy-authorization') continue;
      for (const sign of this.#all(folded, key, isAtHome)) yield [sign, at('the name of a field')];
      for (const sign of this.#all(asSent, values[i]!, isAtHome)) {
        if (sign.kind === 'value' || !isDropped(plan.drop, key)) yield [sign, at(fieldWords(key, 'field'))];
      }
    }
  }

  /** Of fields that come behind a body. */
  *inTrailers({ keys, values }: HeaderList, isAtHome: (sign: Sign) => boolean): Generator<[Sign, OutboundPlace]> {
    const { asSent, folded } = this.#signs;
    for (let i = 0; i < keys.length; i++) {
      const found = [...this.#all(folded, keys[i]!, isAtHome), ...this.#all(asSent, values[i]!, isAtHome)];
      for (const sign of found) yield [sign, { kind: 'head', words: fieldWords(keys[i]!, 'trailer') }];
    }
  }

  /** The text with stars for real values, as they are or in another case. */
  masked(text: string): string {
    const { asSent, folded } = this.#signs;
    if (text.length < asSent.minBytes) return text;
    const bytes = Buffer.from(text);
    const lower = /[A-Z]/.test(text) ? Buffer.from(text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())) : bytes;
    const found = [...valuesIn(asSent, bytes), ...valuesIn(folded, lower)];
    for (const [start, end] of found) bytes.fill('*', start, end);
    return found.length === 0 ? text : bytes.toString();
  }

  #finds(search: SecretSearch<Sign>, text: string, isAtHome: (sign: Sign) => boolean): boolean {
    const bytes = this.#bytesOf(text);
    for (let at = 0; search.find(bytes, at); at = search.start + 1) {
      if (search.end !== unfinished && !isAtHome(search.label)) return true;
    }
    return false;
  }

  #all(search: SecretSearch<Sign>, text: string, isAtHome: (sign: Sign) => boolean): Sign[] {
    const found: Sign[] = [];
    if (text.length < search.minBytes) return found;
    const bytes = Buffer.from(text, 'latin1');
    for (let at = 0; search.find(bytes, at); at = search.start + 1) {
      const { label } = search;
      if (search.end !== unfinished && !found.includes(label) && !isAtHome(label)) found.push(label);
    }
    return found;
  }

  #bytesOf(text: string): Buffer {
    if (text.length > this.#scratch.length) return Buffer.from(text, 'latin1');
    return this.#scratch.subarray(0, this.#scratch.write(text, 0, 'latin1'));
  }
}

function valuesIn(search: SecretSearch<Sign>, bytes: Buffer): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (let at = 0; search.find(bytes, at); at = search.start + 1) {
    if (search.end !== unfinished && search.label.kind === 'value') found.push([search.start, search.end]);
  }
  return found;
}

/** A text that was encoded twice, as a URL in a URL or JSON in a query, hides from a single reading: both are searched. */
function unfold(text: string): string {
  return /%(?:25|5c)/i.test(text) ? `${text}${apart}${decodeOnce(text)}` : text;
}

function decodeOnce(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A name of a field is the sandbox's own choice: a long one is not repeated. */
function fieldWords(key: string, what: string): string {
  return key.length <= maxFieldName && /^[a-z0-9_-]+$/.test(key) ? `the ${what} ${key}` : `a ${what}`;
}
