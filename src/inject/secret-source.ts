// What every source of a credential has in common: it yields the current value as a Secret, and it fails with an
// error that is for the operator alone and never holds any part of a value.
import type { Permission } from '../flow/flow.ts';
import type { Sandbox } from '../flow/sandbox.ts';
import type { Secret } from '../flow/secret.ts';

/** The request that a credential is for: a flow, or the part of it that a source may look at. */
export interface SecretAsker {
  readonly sandbox: Sandbox;
  readonly permission: Pick<Permission, 'git' | 'repository'>;
}

export const maxSecretBytes = 64 * 1024;

export interface SecretSource {
  /** Synchronous whenever the value is at hand. null: nothing is set. Throws or rejects with a SourceError. */
  current(asker: SecretAsker | null): Secret | null | Promise<Secret | null>;
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

/** A PEM block is the one value of several lines. No secret keeps a line end: spaces take their place. */
function onOneLine(value: string): string {
  return /^-----BEGIN [A-Z ]+-----[\x20-\x7e\r\n]*-----END [A-Z ]+-----\s*$/.test(value)
    ? value.trim().replace(/[\r\n]+/g, ' ')
    : value;
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
