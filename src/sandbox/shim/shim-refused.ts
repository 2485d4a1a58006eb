// Why the shim does not start, in words for the person who started it. Never holds any part of a key.

export class ShimRefused extends Error {
  override readonly name = 'ShimRefused';
  /** What to do about it. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
  }
}
