// Stops calling an upstream that has failed several times in a row, and lets one request at a time test whether it is back.
// Knows only keys, failures and successes; upstream-circuits.ts decides what counts as which. Never counts its own refusals.
import { LRUCache } from 'lru-cache';
import { Refusal, type RefusalCode } from '../../../path/refusal.ts';

export interface CircuitSettings {
  /** So many failures in a row, none older than the window, open a circuit. */
  readonly failures: number;
  readonly windowMs: number;
  /** How long it stays open before one request may try; twice as long after every try that fails. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Of which failures are remembered; beyond it those that were asked for least recently are forgotten. */
  readonly maxCircuits: number;
  /** Must never go back. */
  readonly nowMs: () => number;
  /** 0 to 1. */
  readonly random: () => number;
}

export const usualCircuits: CircuitSettings = {
  failures: 5,
  windowMs: 30_000,
  firstPauseMs: 1_000,
  longestPauseMs: 30_000,
  maxCircuits: 1_000,
  nowMs: () => performance.now(),
  random: Math.random,
};

/** Nobody has asked for it for so long that nobody knows. */
const forgottenAfterMs = 600_000;

interface Circuit {
  /** When they came, the latest last; as many as it takes to open. */
  recentMs: number[];
  /** All of them, since it last worked. */
  count: number;
  sinceMs: number;
  kind: RefusalCode;
  open: OpenCircuit | null;
}

interface OpenCircuit {
  pauseMs: number;
  retryAtMs: number;
  /** Who tries at the moment. */
  trial: { readonly by: object; readonly sinceMs: number } | null;
}

export type CircuitChange = 'opened' | 'closed';

const inWords: Partial<Record<RefusalCode, string>> = {
  'upstream.unresolved': 'its name could not be resolved',
  'upstream.connect': 'it could not be reached',
  'upstream.certificate': 'its certificate is not valid',
  'upstream.proxy': 'the upstream proxy opened no way to it',
  'upstream.timeout': 'it was too slow',
  'upstream.closed': 'it broke off',
  'upstream.protocol': 'it gave no readable answer',
};

export class CircuitBreaker {
  readonly #settings: CircuitSettings;
  readonly #onChange: (key: string, change: CircuitChange, why: string) => void;
  readonly #circuits: LRUCache<string, Circuit>;

  constructor(settings: CircuitSettings, onChange: (key: string, change: CircuitChange, why: string) => void) {
    this.#settings = settings;
    this.#onChange = onChange;
    this.#circuits = new LRUCache({ max: settings.maxCircuits });
  }

  /** Nothing has failed: there is nothing to ask. */
  get isQuiet(): boolean {
    return this.#circuits.size === 0;
  }

  /** How many are open, those included that are being tried. */
  get openCount(): number {
    const nowMs = this.#settings.nowMs();
    let count = 0;
    for (const [key, { open, recentMs }] of this.#circuits.entries()) {
      const lastMs = open?.retryAtMs ?? recentMs.at(-1)!;
      if (nowMs - lastMs > forgottenAfterMs) this.#circuits.delete(key);
      else if (open !== null) count++;
    }
    return count;
  }

  /** True: this request tests the upstream, and must call `release` at its end. Throws while the circuit is open. */
  admit(key: string, by: object, name: string): boolean {
    const circuit = this.#circuits.get(key);
    if (circuit === undefined || circuit.open === null) return false;
    const { open } = circuit;
    const nowMs = this.#settings.nowMs();
    // A trial that takes very long (a slow upload) must not keep everyone else away for good.
    const isTried = open.trial !== null && nowMs - open.trial.sinceMs < this.#settings.longestPauseMs;
    if (nowMs < open.retryAtMs || isTried) throw this.#refusal(circuit, open, name, nowMs);
    open.trial = { by, sinceMs: nowMs };
    return true;
  }

  succeeded(key: string): void {
    const circuit = this.#circuits.get(key);
    if (circuit === undefined) return;
    this.#circuits.delete(key);
    if (circuit.open !== null) this.#onChange(key, 'closed', 'it works again');
  }

  failed(key: string, by: object, kind: RefusalCode): void {
    const nowMs = this.#settings.nowMs();
    const circuit = this.#circuits.get(key) ?? { recentMs: [], count: 0, sinceMs: nowMs, kind, open: null };
    const { open } = circuit;
    // What was under way before it opened says nothing new, and must not keep it open for longer.
    if (open !== null && open.trial?.by !== by) return;
    circuit.kind = kind;
    circuit.count++;
    if (open !== null) {
      open.pauseMs = Math.min(open.pauseMs * 2, this.#settings.longestPauseMs);
      open.retryAtMs = nowMs + this.#jittered(open.pauseMs);
      open.trial = null;
      return;
    }
    circuit.recentMs = circuit.recentMs.filter((atMs) => nowMs - atMs <= this.#settings.windowMs);
    if (circuit.recentMs.length === 0) {
      circuit.count = 1;
      circuit.sinceMs = nowMs;
    }
    circuit.recentMs.push(nowMs);
    this.#circuits.set(key, circuit);
    if (circuit.recentMs.length < this.#settings.failures) return;
    const pauseMs = this.#settings.firstPauseMs;
    circuit.open = { pauseMs, retryAtMs: nowMs + this.#jittered(pauseMs), trial: null };
    this.#onChange(key, 'opened', `${circuit.count} failures in a row: ${wordsFor(kind)}`);
  }

  /** The try ended without success or failure (its client went away): the next request may try. */
  release(key: string, by: object): void {
    const open = this.#circuits.get(key)?.open;
    if (open?.trial?.by === by) open.trial = null;
  }

  /** Begins anew: with those whose key begins so, or (null) all. */
  forget(prefix: string | null): void {
    if (prefix === null) this.#circuits.clear();
    else for (const key of [...this.#circuits.keys()]) if (key.startsWith(prefix)) this.#circuits.delete(key);
  }

  /** Not all gateways and sandboxes at the same moment. */
  #jittered(pauseMs: number): number {
    return pauseMs * (0.8 + 0.4 * this.#settings.random());
  }

  #refusal({ count, sinceMs, kind }: Circuit, { retryAtMs }: OpenCircuit, name: string, nowMs: number): Refusal {
    const retryAfterSeconds = Math.max(1, Math.ceil((retryAtMs - nowMs) / 1000));
    const agoSeconds = Math.max(1, Math.round((nowMs - sinceMs) / 1000));
    return new Refusal(
      'upstream.circuit-open',
      `the gateway has stopped calling ${name} for now: ${count} failures in a row (${wordsFor(kind)}), the first ${agoSeconds} s ago`,
      {
        rule: 'built-in: an upstream that keeps failing is left alone for a while',
        hint: `Try again in ${retryAfterSeconds} s. The operator finds the failures in the journal.`,
        retryAfterSeconds,
      },
    );
  }
}

function wordsFor(kind: RefusalCode): string {
  return inWords[kind] ?? kind;
}
