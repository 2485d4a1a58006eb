// Collects everything that is wrong or worth saying while a document is compiled, so that a person sees it all at
// once. Turns the schema's issues into sentences; never repeats a value from the document.
import type { z } from 'zod';
import type { YamlDocument } from './document.ts';
import { type DocumentPath, formatPath, type PolicyError } from './policy-error.ts';

type SchemaIssue = z.core.$ZodIssue;

export class Findings {
  readonly errors: PolicyError[] = [];
  readonly warnings: string[] = [];
  readonly #document: YamlDocument;

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  error(path: DocumentPath, message: string, at: 'key' | 'value' = 'value'): void {
    const place = this.#document.locate(path, at);
    this.errors.push({ file: this.#document.file, ...place, path: formatPath(path), message });
  }

  warn(message: string): void {
    if (!this.warnings.includes(message)) this.warnings.push(message);
  }

  lineOf(path: DocumentPath): number {
    return this.#document.locate(path, 'key').line;
  }

  /** The checked value, or undefined after its errors have been noted. */
  check<Out>(schema: z.ZodType<Out>, value: unknown, path: DocumentPath): Out | undefined {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    for (const issue of result.error.issues) this.#note(issue, value, path);
    return undefined;
  }

  #note(issue: SchemaIssue, value: unknown, base: DocumentPath): void {
    const inner = stepsIn(value, issue.path);
    const path = [...base, ...inner];
    if (issue.code === 'unrecognized_keys') {
      // `strictKeys` in schema.ts writes one sentence per key, in order.
      const sentences = issue.message.split('\n');
      for (const [i, key] of issue.keys.entries()) this.error([...path, key], sentences[i] ?? 'unknown key', 'key');
      return;
    }
    if (issue.code === 'invalid_type' && lookUp(value, inner) === undefined) {
      const key = path.at(-1);
      this.error(path, `\`${String(key)}\` is missing${issue.message === '' ? '' : `: ${issue.message}`}`);
      return;
    }
    if (issue.code === 'invalid_key') {
      this.error(path, issue.issues[0]?.message ?? 'this key is not allowed here', 'key');
      return;
    }
    this.error(path, issue.message);
  }
}

/** The steps of an issue, without the index 0 of a list that the document wrote as a single value. */
function stepsIn(value: unknown, steps: readonly PropertyKey[]): (string | number)[] {
  const kept: (string | number)[] = [];
  for (const step of steps) {
    if (typeof step !== 'number') kept.push(String(step));
    else if (Array.isArray(lookUp(value, kept))) kept.push(step);
  }
  return kept;
}

function lookUp(value: unknown, path: DocumentPath): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = Reflect.get(here, step);
  }
  return here;
}
