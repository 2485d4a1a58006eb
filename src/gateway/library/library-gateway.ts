// What a gateway is to a program that starts one with the library: how it is started, and everything it can be asked. Types only,
// and a promise: whoever imports the package reads them. None of them can hold the value of a credential.

import type { Log } from '../../kit/text/log.ts';
import type { Approval, ApprovalScope, Question } from '../../path/approvals.ts';
import type { PolicySection } from '../../policy/explain/explain-policy.ts';
import type {
  CheckResult,
  CredentialStatus,
  HealthReport,
  PolicyLine,
  PublicRecord,
  Registered,
  Unregistered,
  WatchEvent,
} from '../admin/admin-ports.ts';
import type { RequestRecord } from './library-record.ts';

/** What would stand in a `sallyport.yaml`: see docs/policy.md. Paths in it are relative to the working directory. */
export interface PolicyDocument {
  readonly version: number;
  readonly [section: string]: unknown;
}

/** How to start a gateway. Everything may be left out. */
export interface GatewayOptions {
  /**
   * The policy: the path of a `sallyport.yaml`, or what would stand in one as an object. Left out: `$SALLYPORT_CONFIG`, then
   * `sallyport.yaml` in the working directory, then `~/.config/sallyport/`; and if there is none, the embedded default.
   */
  readonly config?: string | PolicyDocument;
  /** The state directory (CA, journal, registrations), private to the user. Left out: `$SALLYPORT_HOME`, or the usual one. */
  readonly home?: string;
  /** Which doors are opened: those of the policy's `listen` (the default), or only those of sandboxes that it starts itself. */
  readonly doors?: 'configured' | 'sandboxes';
  /** Where it says what an operator should know. Left out: warnings and errors on standard error. `false`: nowhere. */
  readonly log?: Log | false;
  /** Whether a credential without a source may be one that the user's own tools keep. Default: no. */
  readonly userKeys?: boolean;
  /**
   * Keeps the memory of this whole process, where credentials are, out of core dumps, debuggers and reports, as the commands
   * do. It cannot be undone, and throws where a debugger is open. Default: no, because the process is yours.
   */
  readonly sealMemory?: boolean;
}

/** A sandbox that is let in: see "Registration" in docs/operations.md. */
export interface Registration {
  /** Left out: a random one. */
  readonly id?: string;
  readonly container_ip?: string;
  readonly container_id?: string;
  /** `owner/repo`, or `owner/*`. Left out: none. */
  readonly repos?: readonly string[];
  readonly auth_mode?: 'bot' | 'user';
  /** Branches it may push to. Default: `sandbox/*`. */
  readonly allowed_branches?: readonly string[];
  /** By name. Left out: all that are configured. */
  readonly credentials?: readonly string[];
  readonly proof?: readonly ('ip' | 'secret' | 'mtls' | 'socket')[];
  /** ISO 8601. Left out: a day, prolonged by traffic. */
  readonly expires_at?: string;
}

/** What `check` is asked. */
export interface CheckQuestion {
  /** By id. Left out: any sandbox, with every credential and no repository. */
  readonly sandbox?: string;
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** Which records are read, and whether to wait for more. */
export interface RecordFilter {
  readonly sandbox?: string;
  readonly refusedOnly?: boolean;
  /** How many of the newest that are there already. Default: 100; with `follow` none. */
  readonly limit?: number;
  /** Goes on with every further one as it happens, until `signal`, `stop`, or until the loop is left. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** What a person, or a program in their place, says to a question. `by` is written into the journal. */
export type Answer =
  | { readonly answer: 'deny'; readonly by?: string }
  | { readonly answer: 'approve'; readonly for: 'once'; readonly by?: string }
  | {
      readonly answer: 'approve';
      readonly for: 'minutes';
      readonly minutes: number;
      readonly scope: ApprovalScope;
      readonly by?: string;
    }
  | {
      readonly answer: 'approve';
      readonly for: 'always';
      readonly scope: ApprovalScope;
      /** The `text` of `preview`: what is written is what was looked at, or nothing is. */
      readonly line: string;
      readonly by?: string;
    };

/** Requests that wait for a person (`ask: true` in the policy). */
export interface Questions {
  list(): readonly Question[];
  /** What was approved for some minutes and is in force. */
  approvals(): readonly Approval[];
  /** What `always` would write into the policy's file. */
  preview(id: string, scope: ApprovalScope): Promise<PolicyLine>;
  /**
   * Resolves when it holds. Rejects with `AdminError` when there is no such question, when `line` is not what would be written
   * (`question.line`), or while no approval can be written into the journal (`audit.unavailable`).
   */
  answer(id: string, answer: Answer): Promise<{ readonly said: string }>;
  /** Ends an approval before its time. False: there is none. */
  withdraw(approvalId: string): Promise<boolean>;
  /** Requests, questions and answers as they come. While somebody reads this, questions are asked; else they are refused. */
  watch(signal: AbortSignal): AsyncIterable<WatchEvent>;
}

/** A gateway that runs in this process. */
export interface SallyportGateway extends AsyncDisposable {
  /** The doors that are open, in words, e.g. `proxy http://127.0.0.1:8080`. */
  readonly doors: readonly string[];
  readonly adminSocket: string;
  /** The state directory. */
  readonly home: string;
  /** The certificate that sandboxes must trust. */
  readonly caPath: string;
  readonly warnings: readonly string[];
  /** The address of the dashboard, good for one visit; null: the policy has no `listen.dashboard`. */
  dashboard(): string | null;
  /** Lets a sandbox in. `proof` is what it needs to prove itself: it is told once. Rejects with `status`, `code` and `hint`. */
  register(registration: Registration): Promise<Registered>;
  /** By id or address. Its connections are cut before this resolves. Null: there was none. */
  unregister(idOrIp: string): Promise<Unregistered | null>;
  renew(id: string): Promise<PublicRecord>;
  list(): Promise<readonly PublicRecord[]>;
  /** Sets the value of a credential that has no source in the policy; it is kept in memory alone. */
  setCredential(name: string, value: string): Promise<void>;
  removeCredential(name: string): Promise<boolean>;
  /** What is known of the credentials; never a value. */
  credentials(): readonly CredentialStatus[];
  /** Would this request pass, by which rule, with which credential? Nothing is forwarded. */
  check(question: CheckQuestion): Promise<CheckResult>;
  /** The policy as it holds for one sandbox, in sentences. Null: no such sandbox. */
  explain(sandbox: string): readonly PolicySection[] | null;
  health(): HealthReport;
  /** What happened, from the journal. */
  requests(filter?: RecordFilter): AsyncIterable<RequestRecord>;
  readonly questions: Questions;
  /** Reads the policy again, or takes another object. Rejects with `PolicyRejected`; the old one then stays in force. */
  reload(config?: PolicyDocument): Promise<void>;
  /**
   * Lets open requests end, for ten seconds at most, then closes everything. May be called again. What would change something
   * rejects from then on, with `LaunchError`, and loops that follow end.
   */
  stop(): Promise<void>;
}
