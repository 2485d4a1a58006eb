// Finds the members of JSON that say what an answer cost, in pieces of any size and of any length: it keeps one name and one
// short value at a time, never the document. Where a member stands decides what it is: what a model has written may hold
// the same words, and stands elsewhere or inside a string. No validator: what is not JSON has no such members.

/** What an object is, by the way that leads to it. */
export const place = {
  other: 0,
  root: 1,
  /** `message` of the root: how Anthropic begins a stream. */
  message: 2,
  /** `response` of the root: OpenAI's events, Google's Code Assist; `interaction`: Google's events. */
  response: 3,
  /** `serverContent` of the root: a live conversation of Google's. */
  turn: 4,
  usage: 5,
  /** `usage` of `message`: what is known before there is an answer. */
  firstUsage: 6,
  usageDetail: 7,
} as const;

export type UsagePlace = (typeof place)[keyof typeof place];

export interface ScanSink {
  /** A number in one of the usages. */
  onCount(where: UsagePlace, key: string, value: number): void;
  /** A short text in the root, the message or the response; of an object `conversation`, ''. Escapes are not taken off. */
  onWord(where: UsagePlace, key: string, value: string): void;
  /** So many bytes of what a model says, more or less: envelopes and repetitions in it are the provider's. */
  onProse(bytes: number): void;
  /** There is an error in it where providers put theirs. */
  onError(): void;
  onTurnComplete(): void;
  /** `background: true` of OpenAI: the work goes on after the answer. */
  onBackground(): void;
}

const maxDepth = 256;
const maxKeyBytes = 40;
const maxWordBytes = 160;
const maxNumberBytes = 24;

const outside = 0;
const inKey = 1;
const inWord = 2;
const inSkipped = 3;
const inNumber = 4;

const quote = 0x22;
const backslash = 0x5c;

const proseKeys: ReadonlySet<string> = new Set(
  'text content delta partial_json arguments thinking reasoning reasoning_content refusal transcript response'.split(
    ' ',
  ),
);
const wordKeys: ReadonlySet<string> = new Set(
  'model modelVersion type id status previous_response_id previous_interaction_id'.split(' '),
);
const detailKeys: ReadonlySet<string> = new Set([
  'input_tokens_details',
  'prompt_tokens_details',
  'billed_units',
  'tokens',
]);

export class UsageScan {
  readonly #sink: ScanSink;
  readonly #places = new Uint8Array(maxDepth);
  readonly #arrays = new Uint8Array(maxDepth);
  #depth = 0;
  /** Levels below the deepest that is kept. */
  #below = 0;
  #state = outside;
  #expectsKey = false;
  #key = '';
  #held = '';
  #isProse = false;
  /** The last byte before this chunk was a backslash that escapes what follows. */
  #escaped = false;

  constructor(sink: ScanSink) {
    this.#sink = sink;
  }

  /** The document is over, whole or not. */
  reset(): void {
    this.#depth = 0;
    this.#below = 0;
    this.#state = outside;
    this.#expectsKey = false;
    this.#key = '';
    this.#escaped = false;
  }

  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === outside) at = this.#takeOutside(chunk, at);
      else if (this.#state === inNumber) at = this.#takeNumber(chunk, at);
      else at = this.#takeString(chunk, at);
    }
  }

  #takeOutside(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      switch (byte) {
        case quote:
          this.#beginString();
          return at;
        case 0x7b: // {
          this.#open(false);
          break;
        case 0x5b: // [
          this.#open(true);
          break;
        case 0x7d:
        case 0x5d:
          this.#close();
          break;
        case 0x3a: // :
          this.#expectsKey = false;
          break;
        case 0x2c: // ,
          this.#expectsKey = this.#depth > 0 && this.#arrays[this.#depth - 1] === 0;
          break;
        case 0x74: // true
          if (this.#place() === place.turn && this.#key === 'turnComplete') this.#sink.onTurnComplete();
          else if (this.#key === 'background' && isAnswer(this.#place())) this.#sink.onBackground();
          break;
        default:
          if (((byte >= 0x30 && byte <= 0x39) || byte === 0x2d) && isUsage(this.#place())) {
            this.#state = inNumber;
            this.#held = '';
            return at - 1;
          }
      }
    }
    return at;
  }

  #takeNumber(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && isNumberByte(chunk[at]!)) at++;
    if (this.#held.length < maxNumberBytes)
      this.#held += chunk.toString('latin1', from, Math.min(at, from + maxNumberBytes));
    if (at < chunk.length) {
      this.#state = outside;
      const value = Number(this.#held);
      if (Number.isFinite(value) && value >= 0) this.#sink.onCount(this.#place(), this.#key, value);
    }
    return at;
  }

  /** Up to the end of the string, or of the chunk. */
  #takeString(chunk: Buffer, from: number): number {
    let end = from;
    for (;;) {
      const found = chunk.indexOf(quote, end);
      const to = found < 0 ? chunk.length : found;
      let slashes = 0;
      while (to - 1 - slashes >= end && chunk[to - 1 - slashes] === backslash) slashes++;
      // The byte at `end` may be escaped by what came before.
      const isEscaped = ((slashes === to - end && this.#escaped ? 1 : 0) + slashes) % 2 === 1;
      if (found < 0) {
        this.#escaped = isEscaped;
        this.#keep(chunk, from, to);
        return to;
      }
      this.#escaped = false;
      end = to + 1;
      if (isEscaped) continue;
      this.#keep(chunk, from, to);
      this.#endString();
      return end;
    }
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    if (this.#state === inSkipped) {
      if (this.#isProse && to > from) this.#sink.onProse(to - from);
      return;
    }
    const room = (this.#state === inKey ? maxKeyBytes : maxWordBytes) + 1 - this.#held.length;
    if (room > 0) this.#held += chunk.toString('latin1', from, Math.min(to, from + room));
  }

  #beginString(): void {
    this.#escaped = false;
    this.#held = '';
    if (this.#below > 0) {
      this.#isProse = false;
      this.#state = inSkipped;
      return;
    }
    if (this.#expectsKey) {
      this.#state = inKey;
      return;
    }
    const where = this.#place();
    if (this.#key === 'error' && isAnswer(where)) this.#sink.onError();
    const isWord = where >= place.root && where <= place.response && wordKeys.has(this.#key);
    this.#isProse = !isWord && proseKeys.has(this.#key);
    this.#state = isWord ? inWord : inSkipped;
  }

  #endString(): void {
    if (this.#state === inKey) this.#key = this.#held.length > maxKeyBytes ? '' : this.#held;
    else if (this.#state === inWord) this.#sink.onWord(this.#place(), this.#key, this.#held.slice(0, maxWordBytes));
    this.#state = outside;
  }

  #open(isArray: boolean): void {
    if (this.#below > 0 || this.#depth === maxDepth) {
      this.#below++;
      return;
    }
    const within = this.#place();
    if (!isArray && isAnswer(within)) this.#noteObject(within);
    // A list at the top, or objects one after the other: each is a document of its own.
    const isRoot = this.#depth === 0 || (this.#depth === 1 && this.#arrays[0] === 1);
    this.#places[this.#depth] = isArray ? place.other : isRoot ? place.root : placeOf(within, this.#key);
    this.#arrays[this.#depth] = isArray ? 1 : 0;
    this.#depth++;
    this.#expectsKey = !isArray;
    if (!isArray) this.#key = '';
  }

  #noteObject(within: UsagePlace): void {
    if (this.#key === 'error') this.#sink.onError();
    else if (this.#key === 'conversation') this.#sink.onWord(within, this.#key, '');
  }

  #close(): void {
    if (this.#below > 0) this.#below--;
    else if (this.#depth > 0) this.#depth--;
    this.#expectsKey = false;
  }

  /** Of the object that the next member stands in. */
  #place(): UsagePlace {
    if (this.#depth === 0 || this.#below > 0) return place.other;
    return this.#places[this.#depth - 1] as UsagePlace;
  }
}

function placeOf(within: UsagePlace, key: string): UsagePlace {
  switch (within) {
    case place.root:
      if (key === 'message') return place.message;
      if (key === 'response' || key === 'interaction') return place.response;
      if (key === 'serverContent') return place.turn;
      // `meta`: Cohere's, where there is no conversation.
      return key === 'usage' || key === 'usageMetadata' || key === 'meta' ? place.usage : place.other;
    case place.response:
      return key === 'usage' || key === 'usageMetadata' ? place.usage : place.other;
    case place.message:
      return key === 'usage' ? place.firstUsage : place.other;
    case place.usage:
      return detailKeys.has(key) ? place.usageDetail : place.other;
    default:
      return place.other;
  }
}

function isUsage(where: UsagePlace): boolean {
  return where >= place.usage;
}

function isAnswer(where: UsagePlace): boolean {
  return where === place.root || where === place.response;
}

function isNumberByte(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2e || byte === 0x2d || byte === 0x2b || (byte | 0x20) === 0x65;
}
