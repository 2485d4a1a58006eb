// The CA could not be used. The message is for the operator and says what to do; it never quotes a file's content.

export class CaError extends Error {
  override readonly name = 'CaError';
}
