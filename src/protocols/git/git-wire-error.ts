// What was read from git's wire cannot be read in exactly one way, is more than we are willing to read, or is a part of
// the protocol that is not spoken here. The message says what was wrong in words, and never quotes the bytes.

export type GitWireErrorCode = 'malformed' | 'too-large' | 'unsupported';

export class GitWireError extends Error {
  override readonly name: string = 'GitWireError';
  readonly code: GitWireErrorCode;

  constructor(code: GitWireErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Its objects are named by another hash than SHA-1, so nothing of them can be read here. */
export class OtherObjectFormat extends GitWireError {
  constructor() {
    super('unsupported', 'a push with an object format other than sha1');
  }
}
