// Adds up the usage that one answer reports, in the field names of every provider, and estimates what is missing: unknown
// never counts as zero. Providers report running totals, so the highest of each number counts. Never believes an impossible
// number.
import type { TokenUse } from '../../../path/exchange/answer-meter.ts';
import { place, type ScanSink, type UsagePlace } from './usage-scan.ts';

/** About how many bytes of text make one token; JSON and code never have more. */
const bytesPerToken = 4;
/** A request whose answer was not waited for has made the model write nobody knows how much. */
const unseenOutputTokens = 1000;
/** Hidden reasoning takes time: an answer that does not report its cost is charged this many tokens per second. */
const tokensPerSecond = 50;
/** What is made after the answer says its cost only to who fetches it, and nobody has to: as much as a long answer has. */
const pendingOutputTokens = 32_768;
/** Above any context there is. */
const maxTokens = 100_000_000;

/** Under which names each number goes; the names are of one provider each, and mean the same wherever they are. */
const meanings = {
  input_tokens: 'input',
  prompt_tokens: 'input',
  promptTokenCount: 'input',
  inputTokens: 'input',
  total_input_tokens: 'input',
  output_tokens: 'output',
  completion_tokens: 'output',
  candidatesTokenCount: 'output',
  responseTokenCount: 'output',
  outputTokens: 'output',
  total_output_tokens: 'output',
  /** Of Google: beside the candidates. */
  thoughtsTokenCount: 'thoughts',
  total_thought_tokens: 'thoughts',
  toolUsePromptTokenCount: 'toolInput',
  total_tool_use_tokens: 'toolInput',
  /** Of Anthropic and Amazon: beside the input. */
  cache_creation_input_tokens: 'cacheWrite',
  cacheWriteInputTokens: 'cacheWrite',
  cache_read_input_tokens: 'cacheRead',
  cacheReadInputTokens: 'cacheRead',
  /** Of OpenAI, Google and DeepSeek: a part of the input. */
  cached_tokens: 'cachedInput',
  cachedContentTokenCount: 'cachedInput',
  total_cached_tokens: 'cachedInput',
  prompt_cache_hit_tokens: 'cachedInput',
  total_tokens: 'total',
  totalTokenCount: 'total',
} as const;

type Meaning = (typeof meanings)[keyof typeof meanings];

const meaningOf: ReadonlyMap<string, Meaning> = new Map(Object.entries(meanings));
/** The events that end one answer of a conversation that goes on. */
const endings: ReadonlySet<string> = new Set(
  ['completed', 'incomplete', 'failed', 'cancelled', 'done'].map((how) => `response.${how}`),
);

/** What an answer goes on from; the sandbox does not send it again. */
const followed: ReadonlySet<string> = new Set(['previous_response_id', 'previous_interaction_id', 'conversation']);
/** Of an answer that is whole: there is more to come, elsewhere. */
const pendingStates: ReadonlySet<string> = new Set(['queued', 'in_progress']);

export interface AnswerEnd {
  /** Of the request; in a coding: as many tokens. */
  readonly requestBytes: number;
  readonly isRequestCoded: boolean;
  /** It broke off, or was not waited for. */
  readonly isCut: boolean;
  /** How long the model had for it, at most. */
  readonly seconds: number;
}

export class UsageTally implements ScanSink {
  readonly #counts = new Map<Meaning, number>();
  #model: string | null = null;
  #id: string | null = null;
  #follows: string | null = null;
  #hasOutput = false;
  #proseBytes = 0;
  #hasError = false;
  #isBackground = false;
  #state = '';
  /** Content of the answer. */
  bytes = 0;
  /** It is compressed in a way that we cannot read. */
  isCoded = false;
  /** The answer of a conversation that goes on is over. */
  isOver = false;

  get isEmpty(): boolean {
    return this.#counts.size === 0 && this.#proseBytes === 0;
  }

  onCount(where: UsagePlace, key: string, value: number): void {
    const meaning = meaningOf.get(key);
    if (meaning === undefined) return;
    const before = this.#counts.get(meaning) ?? 0;
    this.#counts.set(meaning, Math.max(before, Math.min(maxTokens, Math.ceil(value))));
    if (where === place.firstUsage || (meaning !== 'output' && meaning !== 'total')) return;
    this.#hasOutput = true;
    // What was said so far is counted in it.
    this.#proseBytes = 0;
  }

  onWord(where: UsagePlace, key: string, value: string): void {
    if (key === 'model' || key === 'modelVersion') this.#model = value;
    else if (key === 'id') this.#id ??= value;
    else if (key === 'status') this.#state = value;
    else if (followed.has(key)) this.#follows = value;
    else if (key === 'type' && where === place.root && endings.has(value)) this.isOver = true;
  }

  onProse(bytes: number): void {
    this.#proseBytes += bytes;
  }

  onError(): void {
    this.#hasError = true;
  }

  onBackground(): void {
    this.#isBackground = true;
  }

  onTurnComplete(): void {
    this.isOver = true;
  }

  /** What it says itself; null: nothing. Of one that was cut off before it could say it: what the model said until then. */
  said(isCut: boolean): TokenUse | null {
    if (this.#counts.size > 0) return this.#use(this.#input(0), this.#output(), false);
    if (!isCut || this.#proseBytes === 0) return null;
    return this.#use(0, Math.ceil(this.#proseBytes / bytesPerToken), true);
  }

  /** With estimates for what it does not say; null: it is an error, which costs nothing. */
  use({ requestBytes, isRequestCoded, isCut, seconds }: AnswerEnd): TokenUse | null {
    if (this.isEmpty && this.#hasError) return null;
    const knowsInput = this.#counts.has('input');
    const input = this.#input(Math.ceil(requestBytes / (isRequestCoded ? 1 : bytesPerToken)));
    const uncounted = isCut && !this.isOver ? Math.ceil(this.#proseBytes / bytesPerToken) : 0;
    const output = this.#hasOutput
      ? this.#output() + uncounted
      : Math.max(this.#output(), this.#estimatedOutput(isCut), Math.ceil(seconds * tokensPerSecond));
    return this.#use(input, output, !knowsInput || !this.#hasOutput || uncounted > 0);
  }

  #use(input: number, output: number, isEstimated: boolean): TokenUse {
    const cached = Math.min(this.#of('cachedInput'), input);
    return {
      model: this.#model,
      id: this.#id,
      follows: this.#counts.has('input') ? null : this.#follows,
      input: input - cached + this.#of('toolInput'),
      output,
      cacheRead: this.#of('cacheRead') + cached,
      cacheWrite: this.#of('cacheWrite'),
      isEstimated,
    };
  }

  /** Where only a total is said, what is not output is input. */
  #input(estimate: number): number {
    return this.#counts.has('input') ? this.#of('input') : Math.max(estimate, this.#of('total') - this.#output());
  }

  /** A total counts what some providers say nowhere else: the thoughts of a model. */
  #output(): number {
    const named = this.#of('output') + this.#of('thoughts');
    return this.#counts.has('input')
      ? Math.max(named, this.#of('total') - this.#of('input') - this.#of('toolInput'))
      : named;
  }

  #estimatedOutput(isCut: boolean): number {
    const isPending = this.#isBackground || (!isCut && pendingStates.has(this.#state));
    return Math.max(isPending ? pendingOutputTokens : 0, this.#seenOutput(isCut));
  }

  #seenOutput(isCut: boolean): number {
    if (this.#proseBytes > 0) return Math.ceil(this.#proseBytes / bytesPerToken);
    if (this.#counts.size > 0) return 0;
    if (this.bytes === 0) return isCut ? unseenOutputTokens : 1;
    return Math.ceil(this.bytes / (this.isCoded ? 1 : bytesPerToken));
  }

  #of(meaning: Meaning): number {
    return this.#counts.get(meaning) ?? 0;
  }
}
