// A message that cannot be read in exactly one way. The code says what the caller answers with; the message says
// what was wrong in words, and never quotes the bytes: they may hold a credential.

export type Http1ErrorCode = 'malformed.syntax' | 'malformed.framing' | 'malformed.version' | 'limit.head-size';

export class Http1Error extends Error {
  override readonly name = 'Http1Error';
  readonly code: Http1ErrorCode;

  constructor(code: Http1ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
