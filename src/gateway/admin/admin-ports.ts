// What the admin API needs from the rest of the gateway, handed in by `service.ts`, so that it knows no stage.
// A port that refuses throws an `AdminError`; anything else it throws is our own fault and becomes a 500.
import type { Approval, ApprovalScope, PersonsAnswer, Question } from '../../path/approvals.ts';
import type { PolicySection } from '../../policy/explain/explain-policy.ts';
import type { JoinAnswer, JoinRequest } from './join.ts';

export type { PolicySection };

/** A registration as the admin API shows it, in the contract's spelling. */
export type PublicRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** Handed out once, with the registration: what the sandbox needs to prove itself and to find the door. */
export interface Grant {
  readonly secret?: string;
  /** Path of the Unix socket that belongs to this sandbox alone. */
  readonly socket?: string;
  /** The proxy door, e.g. `http://127.0.0.1:8080`; without the secret in it. */
  readonly proxy_url?: string;
  /** With a namespace: the certificate (PEM) to trust: of a CA made for this sandbox alone, or, for a container, the gateway's. */
  readonly ca_certificate?: string;
  /** That CA with its key (PEM), where it is for this sandbox alone: the launcher gives it to the next gateway. */
  readonly ca?: { readonly certificate: string; readonly key: string };
  /** With the proof `mtls`: what the shim proves itself with. The key is kept nowhere else. */
  readonly identity?: GrantedIdentity;
  /** With a namespace: hosts that serve git, whose ssh URLs are led through the door. */
  readonly git_hosts?: readonly string[];
  /** With a namespace: ports of the host that it finds on its own loopback, as `PORT[:INSIDE]`. */
  readonly host_ports?: readonly string[];
  /** With a namespace: its ports that this machine has. */
  readonly published?: readonly Publication[];
  /** With a namespace: hosts that it may reach by plain TCP, as `host:port`. */
  readonly plain_hosts?: readonly string[];
  /** With a namespace: the credentials that are set and that it may use, by name. */
  readonly credentials?: readonly string[];
  /** Those of them that are the login of an agent in place of a key. */
  readonly logins?: readonly string[];
  /** Where the policy wants placeholders of those it may use; none is secret. */
  readonly placeholders?: readonly GrantedPlaceholder[];
}

export interface GrantedPlaceholder {
  readonly credential: string;
  readonly variables: readonly string[];
  readonly file: { readonly path: string; readonly text: string } | null;
  readonly prefix: string | null;
}

/** All PEM. The certificate is short-lived; the shim renews it over the mTLS door with a key of its own. */
export interface GrantedIdentity {
  readonly certificate: string;
  readonly key: string;
  /** The identity CA, which signed both this certificate and that of the gateway's mTLS door. Not the interception CA. */
  readonly ca: string;
  readonly expires_at: string;
}

export interface Registered {
  readonly record: PublicRecord;
  readonly proof: Grant;
}

/** A port of a sandbox that this machine has. */
export interface Publication {
  readonly sandbox: string;
  readonly address: string;
  readonly hostPort: number;
  /** Inside. */
  readonly port: number;
}

export interface PortsOfSandbox {
  readonly sandbox: string;
  /** But for the door's own. */
  readonly listening: readonly { readonly port: number; readonly addresses: readonly string[] }[];
  readonly published: readonly Publication[];
}

export interface Unregistered {
  /** Other gateways of which it is not known that they have let go of it. */
  readonly unconfirmed: readonly string[];
}

export interface CredentialStatus {
  readonly name: string;
  readonly source: string;
  readonly set: boolean;
  /** Nothing is known of it yet: its source is asked when a request needs it. */
  readonly unasked?: boolean;
  /** Its value is a token of a login, not a key. */
  readonly login?: boolean;
  /** When the value in force was first seen. */
  readonly since?: string | null;
  readonly expires?: string | null;
  readonly lastUsed?: string | null;
  readonly error?: string | null;
}

export interface CheckResult {
  readonly allowed: boolean;
  /** Of the answer that the door would give; 0: it is not decided. */
  readonly status: number;
  /** `allowed`; the code of the refusal; `undecided`: it depends on a body that was not given. */
  readonly code: string;
  readonly rule: string;
  readonly reason: string;
  readonly hint: string;
  readonly credential: string | null;
}

export interface LiveControl {
  readonly name: string;
  readonly live: boolean;
  readonly detail: string;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly version: string;
  /** The configuration in force: its file, or `embedded default`. */
  readonly config: string;
  readonly doors: readonly string[];
  /** Path of the CA certificate. */
  readonly ca: string;
  readonly sandboxes: number;
  readonly controls: readonly LiveControl[];
  readonly warnings: readonly string[];
  /** Files of the gateway that no sandbox may change, and those that none may see. */
  readonly guarded: { readonly keep: readonly string[]; readonly hide: readonly string[] };
}

export interface AuditFilter {
  readonly sandbox: string | null;
  readonly refusedOnly: boolean;
  /** At most so many of the newest records; with `follow`, those that begin the feed. */
  readonly limit: number;
  readonly follow: boolean;
  /** Aborted when the reader has gone away: a waiting iterator must end then. */
  readonly signal: AbortSignal;
}

/** Who is told of requests and questions as they come; a person who looks on can be asked. */
export interface WatchEvent {
  readonly event: 'request' | 'question' | 'answered' | 'lost';
  /** A record of the journal, a question, `{id, verdict}`, or `{count}` of those that a slow reader did not get. */
  readonly data: object;
}

export interface QuestionPorts {
  list(): readonly Question[];
  approvals(): readonly Approval[];
  /** What `always` would write: shown before it is written. */
  preview(id: string, scope: ApprovalScope): Promise<PolicyLine>;
  /** Throws an AdminError for a question that is not there or an answer that cannot be given. Resolves when it holds everywhere. */
  answer(id: string, answer: PersonsAnswer): Promise<{ readonly said: string }>;
  /** Ends an approval before its time. False: there is none. */
  withdraw(approvalId: string, by: string): Promise<boolean>;
  /** While it is read somebody watches. Ends when `signal` is aborted. */
  watch(signal: AbortSignal): AsyncIterable<WatchEvent>;
}

/** A line that would go into the policy. */
export interface PolicyLine {
  readonly file: string;
  /** Where it would stand, from 1. */
  readonly line: number;
  /** The lines themselves, as they would stand in the file. */
  readonly text: string;
  /** All that they let pass, in words. */
  readonly covers: string;
}

/** A run that has asked to join. */
export interface JoinedRun {
  readonly answer: JoinAnswer;
  /** Null: it may not join. `end`: it is gone; true: it was the last, and the gateway ends. */
  readonly lease: { end(): boolean } | null;
}

export interface AdminPorts {
  join(asked: JoinRequest): Promise<JoinedRun>;
  register(input: unknown): Promise<Registered>;
  /** With what each has spent in this period. */
  list(): readonly PublicRecord[] | Promise<readonly PublicRecord[]>;
  find(idOrIp: string): PublicRecord | null | Promise<PublicRecord | null>;
  /** Null: there was none. */
  unregister(idOrIp: string): Promise<Unregistered | null>;
  renew(id: string): Promise<PublicRecord>;
  /** The value is one credential, still as it was sent; the store validates it. */
  setCredential(name: string, value: string): void | Promise<void>;
  removeCredential(name: string): boolean | Promise<boolean>;
  listCredentials(): readonly CredentialStatus[];
  check(input: unknown): Promise<CheckResult>;
  health(): HealthReport;
  metrics(): Promise<string>;
  audit(filter: AuditFilter): AsyncIterable<object>;
  readonly questions: QuestionPorts;
  /** Of every sandbox with a namespace, or (by id or address) of one. */
  ports(idOrIp: string | null): readonly PortsOfSandbox[];
  /** `text`: `[[IP:]HOST_PORT:]PORT`. */
  publish(idOrIp: string, text: string): Promise<Publication>;
  unpublish(idOrIp: string, port: number): readonly Publication[];
  /** From now on unknown public hosts are let through to this sandbox, to read, without any credential. */
  startLearning(sandbox: string): Promise<void>;
  /** The address of the dashboard, good for one visit; null: none is served. */
  dashboardAddress(): string | null;
  /** The same, and where none is served yet it is from now on, on a free port of loopback. */
  openDashboard(): Promise<string>;
  /** The policy as it holds for one sandbox, in sentences; `full`: with every name of a long list. Null: no such sandbox. */
  explain(sandbox: string, full?: boolean): readonly PolicySection[] | null;
}
