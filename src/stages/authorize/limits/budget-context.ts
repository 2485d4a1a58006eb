// Providers keep conversations and read them again for every answer that continues one. The sandbox does not send that part,
// and an answer that is cut off early does not say how long it was. This file remembers the lengths by the ids of answers, so
// that nobody hides the cost of a long conversation by leaving early. Bounded; it never keeps any content.
import { LRUCache } from 'lru-cache';
import type { TokenUse } from '../../../path/exchange/answer-meter.ts';

const maxAnswers = 4096;
const maxSandboxes = 4096;

export class KeptContexts {
  /** Tokens of an answer and of all that it was given, by its id. */
  readonly #answers = new LRUCache<string, number>({ max: maxAnswers });
  /** The most that one answer was given, by sandbox. */
  readonly #largest = new LRUCache<string, number>({ max: maxSandboxes });

  /** The use with what it goes on from in it, where it does not say that itself. To be called once for each, in their order. */
  complete(sandboxId: string, use: TokenUse): TokenUse {
    const largest = this.#largest.get(sandboxId) ?? 0;
    // Of a conversation, or of an answer that was long ago or elsewhere, nobody knows how long it is.
    const kept = use.follows === null ? 0 : (this.#answers.get(use.follows) ?? largest);
    const whole = { ...use, input: Math.max(use.input, kept) };
    const given = whole.input + whole.cacheRead + whole.cacheWrite;
    // One that is fetched again and cut off says less than before.
    if (use.id !== null) this.#answers.set(use.id, Math.max(given + whole.output, this.#answers.get(use.id) ?? 0));
    if (given > largest) this.#largest.set(sandboxId, given);
    return whole;
  }
}
