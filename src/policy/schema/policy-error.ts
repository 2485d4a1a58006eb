// What is wrong with a policy document, said to the person who can fix it, with the place to fix. Messages never
// quote what stands under `credentials`: someone may have put a secret there.
import type { CompiledPolicy } from '../compiled.ts';

export interface PolicyError {
  readonly file: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  /** e.g. `allow[2].paths[0]`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

export type PolicyResult =
  | { readonly ok: true; readonly policy: CompiledPolicy }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

export type DocumentPath = readonly (string | number)[];

export function formatPath(path: DocumentPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** `file:line:column: path: message`, the form editors and terminals know how to jump to. */
export function formatPolicyError(error: PolicyError): string {
  const where = `${error.file}:${error.line}:${error.column}`;
  return error.path === '' ? `${where}: ${error.message}` : `${where}: ${error.path}: ${error.message}`;
}
