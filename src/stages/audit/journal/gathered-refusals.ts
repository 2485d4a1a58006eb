// Refusals that are written down together: how many, when the first and the last came, and a bounded sample of what they
// asked for. The sample is drawn at random, so that nobody can hide one refusal behind many others.
import { randomInt } from 'node:crypto';
import { beginning } from './cap-text.ts';
import type { Merged, RecordBody } from './record.ts';

/** The first few as they came, then as many that were drawn from all others. */
const firstSamples = 4;
const drawnSamples = 4;
const sampleBytes = 160;
/** So many codes by name; there are no more than a hundred. */
const maxCodes = 128;

export class GatheredRefusals {
  count = 0;
  bytes = 0;
  last: RecordBody | null = null;
  readonly #codes = new Map<string, number>();
  readonly #samples: string[] = [];
  #first = '';

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get codes(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#codes);
  }

  add(record: RecordBody, bytes = 0): void {
    if (this.count === 0) this.#first = record.time;
    this.count++;
    this.bytes += bytes;
    this.last = record;
    this.#countCode(record.code ?? record.verdict, 1);
    if (this.#samples.length < firstSamples + drawnSamples) {
      const sample = sampleOf(record);
      if (!this.#samples.includes(sample)) this.#samples.push(sample);
      return;
    }
    const place = randomInt(this.count);
    if (place < drawnSamples) this.#samples[firstSamples + place] = sampleOf(record);
  }

  /** Takes over all that others have gathered. */
  addAll(other: GatheredRefusals, bytes: number): void {
    if (other.last === null) return;
    if (this.count === 0) this.#first = other.#first;
    this.count += other.count;
    this.bytes += bytes;
    this.last = other.last;
    for (const [code, count] of other.#codes) this.#countCode(code, count);
    for (const sample of other.#samples) {
      if (this.#samples.length < firstSamples + drawnSamples && !this.#samples.includes(sample))
        this.#samples.push(sample);
    }
  }

  describe(): Merged {
    return { count: this.count, first: this.#first, last: this.last?.time ?? this.#first, samples: this.#samples };
  }

  #countCode(code: string, count: number): void {
    const name = this.#codes.has(code) || this.#codes.size < maxCodes ? code : 'other';
    this.#codes.set(name, (this.#codes.get(name) ?? 0) + count);
  }
}

/** A text of its own: it holds on to nothing of the record. */
function sampleOf({ method, host, path, sandbox, from }: RecordBody): string {
  const who = sandbox === null && from !== null ? `${from}: ` : '';
  const asked = `${who}${method} ${host}${path}`;
  const short = beginning(asked, sampleBytes);
  return short.length < asked.length ? `${short}…` : short;
}
