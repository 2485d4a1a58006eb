// What `sallyport uninstall` finds on a host: what it would remove, and what it only names because it is not its own to
// remove. Finding changes nothing; only `remove` does.

export type UninstallKind =
  | 'service'
  | 'state'
  | 'configuration'
  | 'rules'
  | 'container'
  | 'volume'
  | 'network'
  | 'image';

export interface Removable {
  readonly kind: UninstallKind;
  /** A path or a name. */
  readonly what: string;
  /** What it is, and what is lost with it. */
  readonly detail: string;
  /** What to do by hand should it fail. */
  readonly how: string;
  /** Rejects when something of it is left, and says what. */
  remove(): Promise<void>;
}

export interface KeptItem {
  readonly what: string;
  readonly why: string;
  /** What to do about it; empty: nothing. */
  readonly how: string;
}

export interface Found {
  readonly removable: readonly Removable[];
  readonly kept: readonly KeptItem[];
}

/** Not a fault of ours: what was asked for must not be done, or not yet. */
export class UninstallRefused extends Error {
  override readonly name = 'UninstallRefused';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
