// The compiled form of `limits`, `budgets` and `store`. Three scopes have the same keys: one sandbox, one credential with all
// its users, and all sandboxes of all gateways together. 0 always means no limit.
import type { PlainSource } from './compiled.ts';

/** How much may be asked for. */
export interface UseLimits {
  readonly requestsPerMinute: number;
  /** How many of them may come at once after a quiet time. */
  readonly burst: number;
  readonly concurrentRequests: number;
  /** From the sandbox. */
  readonly uploadBytesPerMinute: number;
  /** To the sandbox. */
  readonly downloadBytesPerMinute: number;
  readonly pushesPerMinute: number;
}

/** What counts before anybody has asked for anything. */
export interface DoorLimits {
  readonly connections: number;
  readonly connectionsPerSecond: number;
  readonly dnsPerSecond: number;
}

/** Those at the top are for one sandbox. */
export interface Limits extends UseLimits, DoorLimits {
  /** For one credential, whichever sandboxes use it. */
  readonly credential: UseLimits;
  /** For all sandboxes together. */
  readonly gateway: UseLimits & DoorLimits;
  readonly headBytes: number;
  /** 0: no limit. */
  readonly requestBodyBytes: number;
  readonly responseBodyBytes: number;
  /** One push, and all pushes that wait on disk together. */
  readonly pushBytes: number;
  readonly spoolBytes: number;
  readonly connectTimeoutMs: number;
  /** How long a client may take to send a whole head, from its first byte (or its connection) on. */
  readonly clientHeadTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** A whole request, from its head to the end of its answer. 0: no limit. Upgraded connections and tunnels too. */
  readonly requestTimeoutMs: number;
}

/** How much may be spent at the providers of models. 0: no limit. */
export interface BudgetLimits {
  readonly tokens: number;
  /** Millionths of a US dollar. */
  readonly microDollars: number;
}

export type BudgetPeriod = 'hour' | 'day' | 'week' | 'month';

/** US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface Budgets {
  /** Begins with the UTC hour, day, week (Monday) or month. */
  readonly period: BudgetPeriod;
  readonly sandbox: BudgetLimits;
  readonly credential: BudgetLimits;
  readonly gateway: BudgetLimits;
  /** The operator's own, before the built-in ones: patterns over names of models, `*` for anything. The first that fits. */
  readonly prices: readonly { readonly pattern: string; readonly price: ModelPrice }[];
}

/** Where gateways share what they know; null in the policy: each has its own. */
export interface StoreSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly user: string | null;
  readonly password: PlainSource | null;
  readonly database: number;
  /** PEM text; empty: the roots of Node. */
  readonly roots: readonly string[];
  /** Before every key. */
  readonly prefix: string;
  /** How long sandboxes that this gateway has identified are served while the store is away. */
  readonly graceMs: number;
  /** The operator's word that an address is the same sandbox on every machine. */
  readonly sharedAddresses: boolean;
  /** For people: without a password. */
  readonly text: string;
}
