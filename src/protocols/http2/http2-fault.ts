// What the other side of HTTP/2 can do wrong, by the error codes of RFC 9113 section 7. A fault ends the connection; what ends
// one stream alone is told to the session without being thrown. Messages never quote bytes: they may hold a credential.

export const errorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export class Http2Fault extends Error {
  override readonly name = 'Http2Fault';
  readonly code: number;

  constructor(code: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
