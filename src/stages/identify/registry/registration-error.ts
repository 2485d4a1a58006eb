// Why a registration could not be made, renewed or removed. The message and the hint go to the operator as they
// are; neither ever holds a secret. `status` and `code` are what the admin API answers with.

export type RegistrationErrorCode =
  | 'sandbox.invalid'
  | 'sandbox.conflict'
  | 'sandbox.not-found'
  | 'sandbox.expiry-is-final'
  | 'container.refused'
  | 'docker.unavailable'
  | 'store.unavailable'
  | 'registry.unwritable';

const statusOf: Record<RegistrationErrorCode, number> = {
  'sandbox.invalid': 400,
  'sandbox.conflict': 409,
  'sandbox.not-found': 404,
  'sandbox.expiry-is-final': 409,
  'container.refused': 409,
  'docker.unavailable': 503,
  'store.unavailable': 503,
  'registry.unwritable': 500,
};

export interface RegistrationErrorDetail {
  /** What to do about it. */
  readonly hint?: string;
  /** Every problem by itself, when there are several. */
  readonly problems?: readonly string[];
  readonly cause?: unknown;
}

export class RegistrationError extends Error {
  override readonly name: string = 'RegistrationError';
  readonly status: number;
  readonly code: RegistrationErrorCode;
  readonly hint: string;
  readonly problems: readonly string[];

  constructor(code: RegistrationErrorCode, message: string, detail: RegistrationErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.status = statusOf[code];
    this.hint = detail.hint ?? '';
    this.problems = detail.problems ?? [message];
  }
}

/** The address or the id belongs to a registration that is alive: it is never taken over. */
export class ConflictError extends RegistrationError {
  override readonly name = 'ConflictError';

  constructor(message: string, hint: string) {
    super('sandbox.conflict', message, { hint });
  }
}
