// What the dashboard is told, as JSON: what its server gives and its scripts read. Types only. Every text in it may
// come from a sandbox: the page shows it as text and never as anything else. No value of a credential is in any of it.
import type { Approval, Question } from '../../path/approvals.ts';
import type { CredentialStatus, LiveControl } from '../admin/admin-ports.ts';

/** `GET /api/state`, and by parts as events of `GET /api/events` (each event is named after its key and carries its value). */
export interface PageState {
  readonly gateway: GatewayView;
  readonly sandboxes: readonly SandboxView[];
  readonly credentials: readonly CredentialStatus[];
  readonly questions: readonly Question[];
  readonly approvals: readonly Approval[];
  readonly refusals: readonly RefusalGroup[];
  readonly traffic: TrafficView;
  /** The newest first, at most 200. */
  readonly requests: readonly RequestLine[];
}

export interface GatewayView {
  readonly version: string;
  readonly config: string;
  readonly ready: boolean;
  readonly doors: readonly string[];
  readonly controls: readonly LiveControl[];
  readonly warnings: readonly string[];
  /** By the clock of the gateway. */
  readonly nowMs: number;
}

export interface SandboxView {
  readonly id: string;
  readonly proof: readonly string[];
  readonly container: string | null;
  readonly address: string | null;
  readonly repos: readonly string[];
  readonly branches: readonly string[];
  readonly authMode: string;
  /** Null: every credential that is configured. */
  readonly credentials: readonly string[] | null;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly isLearning: boolean;
  /** In the last minute. */
  readonly load: { readonly requests: number; readonly refused: number; readonly bytes: number };
  readonly spent: { readonly period: string; readonly tokens: number; readonly dollars: number };
  /** 0: no limit. */
  readonly budget: { readonly tokens: number; readonly dollars: number };
}

/** One request in the feed. */
export interface RequestLine {
  readonly id: string;
  readonly time: string;
  readonly sandbox: string | null;
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly kind: string;
  readonly verdict: string;
  readonly status: number;
  readonly code: string | null;
  readonly ms: number;
}

/** The event `requests`: what came since the last one. `seen` of which `shown` are here: the rest was left out. */
export interface FeedBatch {
  readonly lines: readonly RequestLine[];
  readonly seen: number;
  readonly shown: number;
}

/** `GET /api/requests/ID`: one request opened up. The journal's record, and where in the policy its rule stands. */
export interface RequestDetail {
  readonly record: Readonly<Record<string, unknown>>;
  readonly place: RulePlace | null;
}

/** Where a rule stands in the configuration. */
export interface RulePlace {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

export interface RefusalGroup {
  readonly code: string;
  readonly rule: string;
  readonly count: number;
  readonly lastAt: string;
  readonly sandboxes: readonly string[];
  /** What was asked for last, e.g. `POST https://api.example.com/v1/x`. */
  readonly example: string;
  readonly reason: string;
  readonly hint: string;
  readonly place: RulePlace | null;
}

export interface TrafficView {
  readonly stepSeconds: number;
  /** The oldest first; the last one is still being counted. */
  readonly points: readonly TrafficPoint[];
}

export interface TrafficPoint {
  readonly atMs: number;
  readonly requests: number;
  readonly refused: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly tokens: number;
  readonly dollars: number;
}

/** The body of `POST /api/questions/ID`. `always` needs the text of the line that was shown (`GET /api/questions/ID/line?scope=…`). */
export type AnswerBody =
  | { readonly answer: 'deny' }
  | { readonly answer: 'approve'; readonly for: 'once' }
  | { readonly answer: 'approve'; readonly for: 'minutes'; readonly minutes: number; readonly scope: 'path' | 'host' }
  | { readonly answer: 'approve'; readonly for: 'always'; readonly scope: 'path' | 'host'; readonly line: string };
