// The `run:` block of a configuration, for whoever starts a sandbox. Reads that one block and compiles no policy; what is wrong
// with it is told as everywhere else. Whether the file may be followed was decided before. // Guards: threats.md T36
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatPolicyError } from '../schema/policy-error.ts';

export interface SavedChoice {
  /** Below `run:`. */
  readonly key: string;
  readonly option: string;
  readonly merge: 'add' | 'replace';
  readonly value: unknown;
}

/** Errors that a person is to be told, one in each line. */
export class SavedChoicesWrong extends Error {
  override readonly name = 'SavedChoicesWrong';
}

/** Most configurations have none, and a start must not wait for what it does not use. */
export function mayHaveChoices(text: string): boolean {
  return /(?:^|[\s{,"'])run["']?\s*:/.test(text);
}

export async function readSavedChoices(file: string): Promise<readonly SavedChoice[]> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Told by whoever reads all of it.
    return [];
  }
  return mayHaveChoices(text) ? choicesIn(text, file) : [];
}

async function choicesIn(text: string, file: string): Promise<readonly SavedChoice[]> {
  const [{ readDocument }, { Findings }, { runSection, savedKeys }] = await Promise.all([
    import('../schema/document.ts'),
    import('../schema/findings.ts'),
    import('../schema/run-schema.ts'),
  ]);
  const read = readDocument(text, file);
  if (!read.ok) throw new SavedChoicesWrong(read.errors.map(formatPolicyError).join('\n'));
  const { value } = read.document;
  const block: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'run') : undefined;
  const findings = new Findings(read.document);
  const checked: Readonly<Record<string, unknown>> | null = findings.check(runSection, block ?? {}, ['run']) ?? null;
  if (checked === null) throw new SavedChoicesWrong(findings.errors.map(formatPolicyError).join('\n'));
  return Object.entries(savedKeys).flatMap(([key, { option, merge, isPath }]) => {
    const given = checked[key];
    if (given === undefined) return [];
    const placed =
      isPath === true && Array.isArray(given) ? given.map((one) => below(dirname(file), String(one))) : given;
    return [{ key, option, merge, value: asList(placed) }];
  });
}

/** A map is a list of `NAME=VALUE`, as it stands on a command line. */
function asList(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value).map(([name, one]) => `${name}=${String(one)}`);
}

function below(folder: string, path: string): string {
  return path.startsWith('/') || path === '~' || path.startsWith('~/') ? path : `${folder}/${path}`;
}
