// Makes the policy that is in force out of the configuration file. None found: an embedded default that runs.
// A file that is there but bad is never replaced by the default: the caller keeps what it had, or does not start.
import { dirname } from 'node:path';
import { compilePolicy } from '../compile.ts';
import { packageFamiliesIn } from '../compile-allow.ts';
import { readDocument } from '../schema/document.ts';
import type { PolicyResult } from '../schema/policy-error.ts';
import { loadPresets } from '../schema/presets.ts';
import type { MachineFiles } from './machine-files.ts';
import { findPackageHosts } from './package-hosts.ts';
import { keepSource } from './policy-source.ts';

export { findConfigFile } from './find-config.ts';

export const defaultPresets = ['anthropic', 'openai', 'google', 'github', 'npm', 'pypi'] as const;

export const embeddedDefault = `version: 1
allow:
${defaultPresets.map((preset) => `  - preset: ${preset}\n`).join('')}`;

export async function loadPolicy(file: string | null, machine: MachineFiles): Promise<PolicyResult> {
  if (file === null) return loadPolicyText(embeddedDefault, 'embedded default', '/', machine);
  const text = machine.readText(file);
  if (text === null) {
    const message = 'the file cannot be read: check that it is there, a regular file, and readable by the gateway';
    return { ok: false, errors: [{ file, line: 1, column: 1, path: '', message }] };
  }
  return loadPolicyText(text, file, dirname(file), machine);
}

/** The same for text that is already at hand. */
export async function loadPolicyText(
  text: string,
  origin: string,
  directory: string,
  machine: MachineFiles,
): Promise<PolicyResult> {
  const read = readDocument(text, origin);
  if (!read.ok) return read;
  const catalog = loadPresets();
  const value = read.document.value;
  const allow = typeof value === 'object' && value !== null ? Reflect.get(value, 'allow') : undefined;
  const packages = await findPackageHosts(packageFamiliesIn(allow, catalog), machine);
  const result = compilePolicy({ document: read.document, origin, directory, machine, catalog, packages });
  if (result.ok) keepSource(result.policy, { file: origin, text, madeAtMs: Date.now() });
  return result;
}
