// A machine made of a few texts, and the shortest way from a document to its policy or its errors.
import type { CompiledPolicy } from '../../../src/policy/compiled.ts';
import { loadPolicyText } from '../../../src/policy/load/load-policy.ts';
import type { MachineFiles } from '../../../src/policy/load/machine-files.ts';
import { formatPolicyError, type PolicyError } from '../../../src/policy/schema/policy-error.ts';

export interface Pretend {
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  /** What `npm config get registry` answers; null: it fails. */
  readonly npm?: string | null;
}

export interface PretendMachine extends MachineFiles {
  readonly asked: string[][];
  readonly opened: string[];
}

export function pretendMachine({ env = {}, files = {}, npm = null }: Pretend = {}): PretendMachine {
  const asked: string[][] = [];
  const opened: string[] = [];
  return {
    env,
    home: '/home/ann',
    asked,
    opened,
    readText: (path) => {
      opened.push(path);
      return files[path] ?? null;
    },
    listDirectory: (path) =>
      Object.keys(files)
        .filter((file) => file.startsWith(`${path}/`))
        .map((file) => file.slice(path.length + 1))
        .sort(),
    run: (argv) => {
      asked.push([...argv]);
      return Promise.resolve(npm);
    },
  };
}

export async function policyOf(text: string, machine: MachineFiles = pretendMachine()): Promise<CompiledPolicy> {
  const result = await loadPolicyText(text, 'sallyport.yaml', '/etc/sallyport', machine);
  if (!result.ok) throw new Error(result.errors.map(formatPolicyError).join('\n'));
  return result.policy;
}

export async function errorsOf(
  text: string,
  machine: MachineFiles = pretendMachine(),
): Promise<readonly PolicyError[]> {
  const result = await loadPolicyText(text, 'sallyport.yaml', '/etc/sallyport', machine);
  return result.ok ? [] : result.errors;
}
