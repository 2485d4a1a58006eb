// The gateway saying no on purpose. A refusal carries what the sandbox may be told; what only the operator may
// know travels in `cause` and reaches the journal and the log alone.

/** Every code a refusal can have, and its HTTP status. The list is the contract: docs/policy.md explains each. */
export const refusalStatus = {
  'malformed.syntax': 400,
  'malformed.framing': 400,
  'malformed.version': 400,
  'malformed.host': 400,
  'malformed.path': 400,
  'malformed.expect': 400,
  'malformed.tls': 400,
  'mismatch.authority': 400,
  'loop.detected': 400,
  'limit.head-size': 413,
  'limit.body-size': 413,
  'limit.rate': 429,
  'limit.concurrent': 429,
  'limit.connections': 429,
  'limit.connection-rate': 429,
  'limit.http2-flood': 429,
  'limit.frames': 429,
  'limit.request-time': 504,
  'limit.pushes': 429,
  'limit.bytes': 429,
  'limit.journal': 429,
  'limit.response-size': 502,
  'store.unavailable': 500,
  'budget.tokens': 429,
  'budget.dollars': 429,
  'budget.unseen': 403,
  'sandbox.unknown': 403,
  'sandbox.expired': 403,
  'sandbox.unconfirmed': 403,
  'sandbox.proof-missing': 407,
  'sandbox.proof-wrong': 407,
  'target.literal-address': 403,
  'target.port': 403,
  'domain.not-allowed': 403,
  'domain.plain-http': 403,
  'method.not-allowed': 403,
  'path.not-allowed': 403,
  'policy.blocked-api': 403,
  'provider.effect': 403,
  'policy.dns-over-https': 403,
  'policy.error': 403,
  'tunnel.sni': 403,
  'tunnel.hidden-name': 403,
  'approval.denied': 403,
  'approval.unanswered': 403,
  'approval.unwatched': 403,
  'approval.too-many': 429,
  'repo.not-allowed': 403,
  'repo.operation-not-judged': 403,
  'github.effect': 403,
  'github.graphql': 403,
  'github.node': 403,
  'git.dumb-http': 403,
  'git.not-understood': 403,
  'git.unmarked-host': 403,
  'git.malformed': 400,
  'push.deletion': 403,
  'push.protected-branch': 403,
  'push.branch-not-allowed': 403,
  'push.namespace': 403,
  'push.tag-moved': 403,
  'push.force': 403,
  'push.protected-path': 403,
  'push.option': 403,
  'push.undecided': 403,
  'limit.push-size': 413,
  'limit.push-work': 413,
  'lfs.malformed': 400,
  'lfs.not-allowed': 403,
  'lfs.ticket': 403,
  'aws.signature': 403,
  'aws.scope': 403,
  'secret.placeholder-misplaced': 403,
  'secret.value-outbound': 403,
  'token.malformed': 400,
  'token.login-outside': 403,
  'credential.no-place': 403,
  'credential.missing': 502,
  'credential.unreadable': 502,
  'upstream.address-refused': 502,
  'upstream.unresolved': 502,
  'upstream.connect': 502,
  'upstream.certificate': 502,
  'upstream.protocol': 502,
  'upstream.closed': 502,
  'upstream.proxy': 502,
  'upstream.circuit-open': 502,
  'upstream.timeout': 504,
  'client.timeout': 400,
  'audit.unavailable': 500,
  'internal.error': 500,
} as const;

export type RefusalCode = keyof typeof refusalStatus;

export interface RefusalDetail {
  /** The line of the policy or the built-in rule that decided, e.g. `policy.blocked_api_patterns.DELETE[0]`. */
  readonly rule?: string;
  /** What would make it pass, for the person or the agent that reads it. */
  readonly hint?: string;
  /** For the operator only: never sent to the sandbox. */
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
  /** The answer in the protocol of a client that shows no other; null or left out: by status. */
  readonly inProtocol?: ProtocolAnswer | null;
}

/** Sent with status 200, because the client reads it only then. */
export interface ProtocolAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** What to do when nothing more particular was said: no refusal leaves without a next step. */
function generalHint(code: RefusalCode): string {
  switch (code.slice(0, code.indexOf('.'))) {
    case 'malformed':
    case 'mismatch':
    case 'client':
    case 'loop':
      return 'Correct the request: the error says what is wrong with it.';
    case 'limit':
      return 'Send less at a time, or ask the operator of the gateway to raise the limit.';
    case 'credential':
      return 'The operator of the gateway must set or repair this credential.';
    case 'upstream':
      return 'Try again later. The operator finds the cause in the log of the gateway by the request_id.';
    case 'internal':
    case 'audit':
      return 'Tell the operator the request_id: the cause is in the log of the gateway.';
    default:
      return '`sallyport check` shows the operator which rule decides this; the policy can change it.';
  }
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly status: number;
  readonly rule: string;
  readonly hint: string;
  readonly retryAfterSeconds: number | null;
  readonly inProtocol: ProtocolAnswer | null;
  /** Nobody said no: it could not be done. */
  readonly isFailure: boolean;
  /** The client loses its connection with it: set where answering it again and again would cost too much. */
  endsConnection = false;

  constructor(code: RefusalCode, message: string, detail: RefusalDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = refusalStatus[code];
    this.rule = detail.rule ?? code;
    this.hint = detail.hint ?? generalHint(code);
    this.retryAfterSeconds = detail.retryAfterSeconds ?? null;
    this.inProtocol = detail.inProtocol ?? null;
    // A name that leads inside is the far side's doing, and a 502 for that; but it is a rule of ours that stops there.
    this.isFailure = this.status >= 500 && code !== 'upstream.address-refused';
  }
}
