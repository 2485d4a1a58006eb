// What every source of a credential has in common: it yields the current value as a Secret, and it fails with an
// error that is for the operator alone and never holds any part of a value.
import type { Permission } from '../../../path/flow.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import { reveal, type Secret } from '../../../path/secret.ts';

/** The request that a credential is for: a flow, or the part of it that a source may look at. */
export interface SecretAsker {
  readonly sandbox: Sandbox;
  readonly permission: Pick<Permission, 'git' | 'repository'>;
  /** Absent: nothing is asked for. */
  readonly canonical?: { readonly method: string; readonly path: string };
}

export const maxSecretBytes = 64 * 1024;

export interface SecretSource {
  /** Synchronous whenever the value is at hand. null: nothing is set. Throws or rejects with a SourceError. */
  current(asker: SecretAsker | null): Secret | null | Promise<Secret | null>;
  /**
   * An upstream answered 401 to `secret`: what this source has instead, looked for once (the file read again, the command
   * run again, the token refreshed, unless that has happened since). Null: nothing better. Absent: never anything.
   */
  renewed?(secret: Secret, asker: SecretAsker | null): Promise<Secret | null>;
  /**
   * What a listing may look at without work: no command is run and no token refreshed for it. Null: nothing at hand, which
   * says nothing yet. Throws a SourceError. Absent: `current(null)` is never work.
   */
  listed?(): Secret | null;
  /** Why it has no value, or will soon have none, when that is known without asking; for the operator. */
  readonly problem?: string | null;
  /** Where the value was found, when the kind of the source does not say it: `~/.codex/auth.json`. */
  readonly origin?: string | null;
  /** The sandbox is gone: what was made for it alone is taken back. */
  drop?(sandboxId: string): void;
  /** The source is no longer used. Takes as long as a call under way at most, and never rejects. */
  close?(): Promise<void>;
  /** Takes a value by hand. Throws a SourceError when it is no usable one. Absent: it has its values from elsewhere. */
  set?(value: string): void;
  /** The value that was set by hand, as it is kept here; null: there is none. */
  setByHand?(): Secret | null;
  /** Forgets the value that was set by hand. False: there was none. */
  clear?(): boolean;
}

/** What a listing may see of a source. */
export function atHand(source: SecretSource): Secret | null {
  if (source.listed !== undefined) return source.listed();
  const found = source.current(null);
  return found instanceof Promise ? null : found;
}

/** `found`, unless it is the very value that was refused. */
export function otherThan(refused: Secret, found: Secret | null): Secret | null {
  return found === null || reveal(found) === reveal(refused) ? null : found;
}

/** Why a source has no usable value and what the operator must do. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value in what a source holds: one trailing newline is the editor's, everything else must be usable as it is. */
export function cleanValue(raw: string | Buffer, where: string): string {
  if (Buffer.byteLength(raw) > maxSecretBytes) throw new SourceError(`${where} is larger than ${maxSecretBytes} bytes`);
  const value = onOneLine(decode(raw, where).replace(/\r?\n$/, ''));
  if (value.trim() === '') throw new SourceError(`${where} is empty`);
  const bad = firstControlCharacter(value);
  if (bad >= 0) {
    throw new SourceError(
      `${where} holds a control character (code ${value.charCodeAt(bad)}, position ${bad}): it must be one line of text`,
    );
  }
  return value;
}

/**
 * Some files that hold one value have several lines: a PEM block, the identities of age, a JSON object (a service account).
 * No secret keeps a line end: they are put on one line, which means the same to whoever reads them.
 */
function onOneLine(value: string): string {
  if (!/[\r\n]/.test(value)) return value;
  if (/^-----BEGIN [A-Z ]+-----[\x20-\x7e\r\n]*-----END [A-Z ]+-----\s*$/.test(value)) {
    return value.trim().replace(/[\r\n]+/g, ' ');
  }
  return identitiesOf(value) ?? objectOf(value) ?? value;
}

/** As age-keygen writes them: comments, and a key on each line. */
function identitiesOf(value: string): string | null {
  const keys = value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return keys.length > 0 && keys.every((line) => /^AGE-SECRET-KEY-[A-Z0-9-]+$/.test(line)) ? keys.join(' ') : null;
}

function objectOf(value: string): string | null {
  if (!value.trimStart().startsWith('{')) return null;
  try {
    return JSON.stringify(JSON.parse(value));
  } catch {
    // The error would quote it.
    return null;
  }
}

/** Where a character stands that could end a header line or hide in one; -1: nowhere. Guards: header injection. */
function firstControlCharacter(value: string): number {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return i;
  }
  return -1;
}

function decode(raw: string | Buffer, where: string): string {
  if (typeof raw === 'string') return raw;
  try {
    return utf8.decode(raw);
  } catch {
    throw new SourceError(`${where} is not UTF-8 text`);
  }
}
