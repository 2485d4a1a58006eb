// An answer of the admin API that is not a success: what a port throws when the request itself is at fault. The
// message and the hint go to the operator as they are, so they must never hold a credential.

/** Every code the admin API itself gives; ports add their own (`sandbox.conflict`, `credential.unknown` …). */
export type AdminErrorCode =
  | 'admin.bad-request'
  | 'admin.bad-json'
  | 'admin.not-found'
  | 'admin.method-not-allowed'
  | 'admin.too-large'
  | 'admin.media-type'
  | 'admin.browser'
  | 'admin.peer';

export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly status: number;
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: AdminErrorCode | (string & {}), message: string, hint = '') {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/**
 * What a port threw, when it is meant as an answer: an `AdminError`, or an error of another room with the same three
 * fields (a registration's, a refusal). Null: our own fault, whose words are for the log alone.
 */
export function asAdminError(error: unknown): AdminError | null {
  if (error instanceof AdminError) return error;
  if (!(error instanceof Error) || !('status' in error && 'code' in error && 'hint' in error)) return null;
  const { status, code, hint, message } = error;
  if (typeof status !== 'number' || status < 400 || status > 599) return null;
  if (typeof code !== 'string' || typeof hint !== 'string') return null;
  return new AdminError(status, code, message, hint);
}
