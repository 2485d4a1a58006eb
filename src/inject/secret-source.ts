// What every source of a credential has in common: it yields the current value as a Secret, and it fails with an
// error that is for the operator alone and never holds any part of a value.
import type { Secret } from '../flow/secret.ts';

export const maxSecretBytes = 64 * 1024;

export interface SecretSource {
  /** Synchronous whenever the value is at hand. null: nothing is set. Throws or rejects with a SourceError. */
  current(): Secret | null | Promise<Secret | null>;
}

/** Why a source has no usable value and what the operator must do. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value in what a source holds: one trailing newline is the editor's, everything else must be usable as it is. */
export function cleanValue(raw: string | Buffer, where: string): string {
  if (Buffer.byteLength(raw) > maxSecretBytes) throw new SourceError(`${where} is larger than ${maxSecretBytes} bytes`);
  const value = decode(raw, where).replace(/\r?\n$/, '');
  if (value.trim() === '') throw new SourceError(`${where} is empty`);
  const bad = firstControlCharacter(value);
  if (bad >= 0) {
    throw new SourceError(
      `${where} holds a control character (code ${value.charCodeAt(bad)}, position ${bad}): it must be one line of text`,
    );
  }
  return value;
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
