// A configuration that may be a sandbox's own work. It is not followed, whatever it says, until its user has said that it is
// theirs. // Guards: threats.md T36

export class ConfigInDoubt extends Error {
  override readonly name = 'ConfigInDoubt';
  readonly what: string;
  /** What its user can do. */
  readonly hint: string;
  /** A sandbox runs that can still write it: nobody can say yet whose it is. */
  readonly isStillWritable: boolean;

  constructor(what: string, hint: string, isStillWritable: boolean) {
    super(`${what}. ${hint}`);
    this.what = what;
    this.hint = hint;
    this.isStillWritable = isStillWritable;
  }
}
