// What counts as a failure of an upstream, and for whom. A connection that cannot be opened counts for everybody: no sandbox
// can cause that. An answer that never begins counts only for the sandbox that asked, whose request may have caused it. Any
// answer at all is a success: see below. Never counts what we or the client caused.
//
// 502, 503 and 504 are answers too. They often speak for one path or one request behind a load balancer, a sandbox can
// provoke them, and their body and Retry-After tell a client more than we could.
import type { Injected } from '../../../path/flow.ts';
import { passesUnread } from '../../../path/passes-unread.ts';
import { Refusal, type RefusalCode } from '../../../path/refusal.ts';
import { originOf } from '../relay/request-head.ts';
import { CircuitBreaker, type CircuitChange, type CircuitSettings, usualCircuits } from './circuit-breaker.ts';
import { LookupTooSlow } from './find-upstream.ts';

/** For the operator's log. */
export interface CircuitReport {
  readonly change: CircuitChange;
  /** e.g. `https://api.example.com:443` */
  readonly upstream: string;
  /** Whose requests alone are concerned; null: everybody's. */
  readonly sandbox: string | null;
  readonly why: string;
  /** How many earlier changes were not reported because there were too many. */
  readonly untold: number;
}

/** What a relay tells of the upstream that it asks. */
export interface AnswerWatch {
  answered(flow: Injected): void;
  /** It is over, and the head of an answer had not come. */
  unanswered(flow: Injected, reason: Refusal): void;
}

const dialFaults: ReadonlySet<RefusalCode> = new Set([
  'upstream.unresolved',
  'upstream.connect',
  'upstream.certificate',
  'upstream.proxy',
  'upstream.timeout',
]);
const answerFaults: ReadonlySet<RefusalCode> = new Set(['upstream.closed', 'upstream.protocol', 'upstream.timeout']);
/** This machine has run out of something, or its firewall is in the way: no upstream's fault. */
const ofThisMachine =
  /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL|EAGAIN|EPERM|EACCES|EAI_MEMORY|EAI_SYSTEM|ERR_SSL_.*ALERT_NO_APPLICATION_PROTOCOL)$/;
/** Our resolver is overwhelmed, which a sandbox that makes up names could bring about. */
const ofTheResolver = /^EAI_AGAIN$/;

/** With a wildcard rule a sandbox can open circuits without end: the log is for more than that. */
const maxReportsPerMinute = 30;
const minuteMs = 60_000;

export class UpstreamCircuits implements AnswerWatch {
  /** By origin. */
  readonly #reach: CircuitBreaker;
  /** By sandbox and origin. */
  readonly #answers: CircuitBreaker;
  readonly #report: (report: CircuitReport) => void;
  readonly #nowMs: () => number;
  #minute = { sinceMs: Number.NEGATIVE_INFINITY, told: 0, untold: 0 };

  constructor(report: (report: CircuitReport) => void, settings: CircuitSettings = usualCircuits) {
    this.#report = report;
    this.#nowMs = settings.nowMs;
    this.#reach = new CircuitBreaker(settings, (key, change, why) => this.#tell(change, key, null, why));
    this.#answers = new CircuitBreaker(settings, (key, change, why) => {
      const at = key.lastIndexOf(' ');
      this.#tell(change, key.slice(at + 1), key.slice(0, at), why);
    });
  }

  get openCount(): number {
    return this.#reach.openCount + this.#answers.openCount;
  }

  /** Throws when the upstream is to be left alone. True: this request finds out, and `over` must follow. */
  admit(flow: Injected): boolean {
    if (this.#answers.isQuiet) return false;
    return this.#answers.admit(answersKey(flow), flow, originOf(flow).host);
  }

  /** The same before a connection is made: `open` is called only if it may be. A connection that is kept needs no leave. */
  async dial<T>(flow: Injected, open: () => Promise<T>): Promise<T> {
    const key = originName(flow);
    this.#reach.admit(key, flow, originOf(flow).host);
    try {
      const opened = await open();
      this.#reach.succeeded(key);
      return opened;
    } catch (error) {
      const counted = dialFault(error);
      if (counted === 'everybody') this.#reach.failed(key, flow, (error as Refusal).code);
      else if (counted === 'this sandbox') this.#answers.failed(answersKey(flow), flow, (error as Refusal).code);
      throw error;
    } finally {
      this.#reach.release(key, flow);
    }
  }

  /** All of the above for a tunnel: what it carries is not seen, so its answer is that it opened. */
  async openTunnel<T>(flow: Injected, open: () => Promise<T>): Promise<T> {
    const isTrial = this.admit(flow);
    try {
      const opened = await this.dial(flow, open);
      this.answered(flow);
      return opened;
    } finally {
      if (isTrial) this.over(flow);
    }
  }

  /** For one that waits for the dial of another: nothing is counted twice, and nobody waits while only one may try. */
  async join<T>(flow: Injected, underway: Promise<T>): Promise<T> {
    const key = originName(flow);
    this.#reach.admit(key, flow, originOf(flow).host);
    try {
      return await underway;
    } finally {
      this.#reach.release(key, flow);
    }
  }

  answered(flow: Injected): void {
    if (!this.#answers.isQuiet) this.#answers.succeeded(answersKey(flow));
  }

  unanswered(flow: Injected, { code }: Refusal): void {
    if (answerFaults.has(code)) this.#answers.failed(answersKey(flow), flow, code);
  }

  over(flow: Injected): void {
    this.#answers.release(answersKey(flow), flow);
  }

  /** A sandbox is gone, or (null) everything has changed. */
  drop(sandboxId: string | null): void {
    if (sandboxId === null) this.#reach.forget(null);
    this.#answers.forget(sandboxId === null ? null : `${sandboxId} `);
  }

  #tell(change: CircuitChange, upstream: string, sandbox: string | null, why: string): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#minute.sinceMs > minuteMs) this.#minute = { ...this.#minute, sinceMs: nowMs, told: 0 };
    if (this.#minute.told >= maxReportsPerMinute) {
      this.#minute.untold++;
      return;
    }
    const { untold } = this.#minute;
    this.#minute.untold = 0;
    this.#minute.told++;
    this.#report({ change, upstream, sandbox, why, untold });
  }
}

/** A tunnel is only TCP: what is wrong with the upstream's TLS says nothing about it. */
function originName(flow: Injected): string {
  const { scheme, host, port } = originOf(flow);
  return `${passesUnread(flow.canonical.kind) ? flow.canonical.kind : scheme}://${host}:${port}`;
}

function answersKey(flow: Injected): string {
  return `${flow.sandbox.id} ${originName(flow)}`;
}

/** For whom a failed dial counts; null: for nobody. */
function dialFault(error: unknown): 'everybody' | 'this sandbox' | null {
  if (!(error instanceof Refusal) || !dialFaults.has(error.code)) return null;
  const { cause } = error;
  // One that had to wait for others was never put to a resolver.
  if (cause instanceof LookupTooSlow) return cause.begun ? 'this sandbox' : null;
  const codes = codesOf(cause);
  if (codes.some((code) => ofThisMachine.test(code))) return null;
  return codes.some((code) => ofTheResolver.test(code)) ? 'this sandbox' : 'everybody';
}

/** Of an error, or of the errors that were had with one address after the other. */
function codesOf(cause: unknown): string[] {
  if (!(cause instanceof Error)) return [];
  const all = cause instanceof AggregateError ? [cause, ...(cause.errors as unknown[])] : [cause];
  return all.map((one) => (one as { readonly code?: unknown }).code).filter((code) => typeof code === 'string');
}
