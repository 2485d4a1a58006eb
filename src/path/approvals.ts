// What people are asked and what they answer: a request that waits at the door, an access request of an agent, and what was granted.
// Plain data throughout, so that it is the same in one process and between the processes of a gateway. Holds no secret.

/** What a request that waits, or an access request, asks for. Texts a sandbox has a say in: shown as text, never as anything else. */
export interface Asked {
  readonly sandbox: string;
  readonly method: string;
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
  /** Decoded, at most 1 KiB; of an undecrypted tunnel empty. */
  readonly path: string;
  /** As it came, at most 1 KiB; null: there is none. It may say what is done as much as a path does. */
  readonly query: string | null;
  /** The rule that says to ask, e.g. `allow[2]` or `github.effects.bot.ask`; of an access request what refuses it today. */
  readonly rule: string;
  /** The name of the credential it would carry. */
  readonly credential: string | null;
  /** Of a call of GitHub's API: its effect and the repository. Null: another request. */
  readonly effect: string | null;
  readonly repository: string | null;
  /** The request that waits; null: an access request, nobody waits. */
  readonly requestId: string | null;
  /** In the words of the agent; null: it gave none. */
  readonly reason: string | null;
}

/** One that a person has not answered yet. */
export interface Question extends Asked {
  /** `q` and a few characters that nobody can foresee. */
  readonly id: string;
  readonly askedAtMs: number;
  /** Refused, or forgotten, when nobody has answered by then. */
  readonly untilMs: number;
  /** What approving cannot change: a rule that no approval lifts, in words; null: approving makes it pass. */
  readonly inVain: string | null;
}

/** How far an approval goes. `path`: this method and path; `host`: this method on every path of the host. */
export type ApprovalScope = 'path' | 'host';

export type PersonsAnswer =
  | { readonly answer: 'deny'; readonly by: string }
  | { readonly answer: 'approve'; readonly for: 'once'; readonly by: string }
  | {
      readonly answer: 'approve';
      readonly for: 'minutes';
      readonly minutes: number;
      readonly scope: ApprovalScope;
      readonly by: string;
    }
  /** A line of the policy, for every sandbox. */
  | {
      readonly answer: 'approve';
      readonly for: 'always';
      readonly scope: ApprovalScope;
      /** The text that was shown, and agreed to: no other is written. Null: none was shown. */
      readonly line: string | null;
      readonly by: string;
    };

/** What the request that waited is told. */
export type Verdict =
  | { readonly granted: true; readonly how: string }
  | {
      readonly granted: false;
      readonly why: 'denied' | 'nobody-answered' | 'nobody-watches' | 'too-many' | 'gone';
      readonly by: string | null;
    };

/** Holds a request until a person has answered. Aborted when its client has gone: then the question is withdrawn. */
export interface Asking {
  ask(asked: Asked, signal: AbortSignal): Promise<Verdict>;
}

/** An effect on GitHub as a person is shown it: at this server, on this repository, with this credential. */
export interface ShownEffect {
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
  readonly effect: string;
  /** Null: not known by its name; in an approval: every one. */
  readonly repository: string | null;
  readonly credential: string | null;
}

/** What a person has approved for a while: what one sandbox may do meanwhile beyond the policy. */
export interface Approval {
  /** `a` and a number. */
  readonly id: string;
  readonly sandbox: string;
  readonly untilMs: number;
  readonly by: string;
  readonly covers:
    | {
        readonly kind: 'request';
        readonly scheme: 'https' | 'http';
        readonly host: string;
        readonly port: number;
        readonly method: string;
        /** Null: every path. */
        readonly path: string | null;
        /** It stands for an undecrypted tunnel. */
        readonly tunnel: boolean;
        /** It was shown as a WebSocket, and covers nothing else; false: as none, and covers none. */
        readonly websocket: boolean;
        /** What was shown with it: what would carry another one is not covered. */
        readonly credential: string | null;
      }
    | ({ readonly kind: 'effect' } & ShownEffect);
}

/** Everything that was approved and is in force: told whole to every process that serves requests. */
export interface ApprovalSet {
  readonly approvals: readonly Approval[];
  /** Sandboxes that learn (`sallyport run --learn`): unknown public hosts are let through to them, to read, bare. */
  readonly learning: readonly string[];
}

/** A refusal as its own sandbox is told it. */
export interface ReportedRefusal {
  readonly time: string;
  readonly requestId: string;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly code: string;
  readonly rule: string;
  readonly reason: string;
  readonly hint: string;
}

/** What an agent asks a person for. */
export interface AccessRequest {
  readonly method: string;
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly reason: string;
}

/** `over`: it was approved for a while, and is not any more. */
export type AccessRequestState = 'waiting' | 'approved' | 'over' | 'denied' | 'forgotten';

export interface ReportedAccessRequest {
  readonly id: string;
  readonly state: AccessRequestState;
  readonly url: string;
  readonly method: string;
  readonly askedAt: string;
  /** Of one that was approved for a while, until when; null: for good, or not approved. */
  readonly until: string | null;
  /** What to do next, in words. */
  readonly next: string;
}

/** What the page inside the sandbox asks of the gateway. Always for one sandbox: nothing here takes another's id from it. */
export interface InsideApi {
  refusalsOf(sandbox: string): Promise<readonly ReportedRefusal[]>;
  accessRequest(
    sandbox: string,
    accessRequest: AccessRequest,
  ): Promise<ReportedAccessRequest | { readonly refused: 'too-many' | 'nobody-watches' }>;
  accessRequestsOf(sandbox: string): Promise<readonly ReportedAccessRequest[]>;
}
