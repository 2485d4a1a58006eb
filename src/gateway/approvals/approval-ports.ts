// What the approvals at which people answer needs of the rest of the gateway, and what it tells. Types only.
import type { AccessRequest, ApprovalScope, ApprovalSet, Asked, Question, Verdict } from '../../path/approvals.ts';
import type { ApprovalSettings } from '../../policy/compiled.ts';
import type { ApprovalsInForce } from './approvals-in-force.ts';

/** What is written into the journal of an answer, or of there being none. */
export interface ApprovalNote {
  readonly text: string;
  readonly sandbox: string;
  /** The request that waited; null: none did. */
  readonly request: string | null;
  /** Who answered; null: nobody. */
  readonly by: string | null;
  /** `deny`, `approve once`, `approve for 15 minutes`, `unanswered`, … */
  readonly answer: string;
}

/** A line of the policy: shown first, written when a person says so. */
export interface OfferedLine {
  readonly preview: {
    readonly file: string;
    readonly line: number;
    readonly text: string;
    /** All that it lets pass, in words. */
    readonly covers: string;
  };
  /** Resolves when it is in force. */
  write(): Promise<void>;
}

/** What the policy says of an access request today. */
export interface JudgedAccessRequest {
  /** It would pass as it is. */
  readonly passes: boolean;
  /** It would go undecrypted: then it is the host that is asked for. */
  readonly tunnel: boolean;
  /** What refuses it, or asks. */
  readonly rule: string;
  readonly credential: string | null;
  readonly effect: string | null;
  readonly repository: string | null;
  /** What would refuse it although it was approved, in words. */
  readonly inVain: string | null;
}

export type ApprovalEvent =
  | { readonly event: 'question'; readonly data: Question }
  | { readonly event: 'answered'; readonly data: { readonly id: string; readonly verdict: Verdict } };

export interface ApprovalOptions {
  readonly settings: () => ApprovalSettings;
  readonly inForce: ApprovalsInForce;
  /** Tells the other processes of this gateway; resolves when it is in force in all of them. */
  readonly spread: (set: ApprovalSet) => Promise<void>;
  /** Of what grants nothing. Throws when it cannot be kept. */
  readonly note: (note: ApprovalNote) => void;
  /** Before anything is granted. Throws an AnswerRefused unless it is written: then nothing is. */
  readonly noteGrant: (note: ApprovalNote) => void;
  readonly judgeAccessRequest: (sandbox: string, accessRequest: AccessRequest) => JudgedAccessRequest;
  /** Throws an AnswerRefused where there is nothing to write into. */
  readonly offerLine: (asked: Asked, scope: ApprovalScope) => Promise<OfferedLine>;
  /** Left out: names that cannot be foreseen. */
  readonly newId?: () => string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Returns how to call it off. */
  readonly later?: (act: () => void, ms: number) => () => void;
}
