// A record of the journal as the library gives it. Types only; src/gateway/library/library-gateway.ts would not compile if the journal's own
// were another.

/** One request that was finished: allowed, refused on purpose, failed, or abandoned by its client. */
export interface RequestRecord {
  /** Its place in the journal, from 1. */
  readonly seq: number;
  /** ISO 8601: when it came. */
  readonly time: string;
  readonly id: string;
  /** Null: nobody knows whose it was. */
  readonly sandbox: string | null;
  readonly door: string;
  readonly proof: readonly string[];
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  /** Decoded, at most 1 KiB as it is written. Like host and method it is the sandbox's word. */
  readonly path: string;
  /** `http`, `websocket`, `tunnel`, `connect` or `lookup`. */
  readonly kind: string;
  /** What git asked for; null: it was not git. */
  readonly git: string | null;
  readonly verdict: 'allowed' | 'refused' | 'failed' | 'abandoned';
  /** What the client was answered; 0: nothing. */
  readonly status: number;
  /** Of a refusal or failure, e.g. `domain.not-allowed`. */
  readonly code: string | null;
  /** The rule that decided, e.g. `allow[2]`. */
  readonly rule: string | null;
  readonly reason: string | null;
  /** What would make it pass. */
  readonly hint: string | null;
  /** The name of the credential it carried. */
  readonly credential: string | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  /** Of a request to a model: which, and what it cost. */
  readonly model: string | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_usd: number;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** Stage by stage: its name, microseconds, and `ok` or the code that ended it. */
  readonly trail: readonly (readonly [stage: string, microseconds: number, outcome: string])[];
  /** Of how many refusals like it this is the record, e.g. of a flood; null or left out: of this one. */
  readonly merged?: { readonly count: number; readonly first: string; readonly last: string } | null;
}
