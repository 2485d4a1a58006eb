// Which credentials the user already has, and where: by name and place. A value is looked at to see that it is there; it is
// neither kept nor handed on, so that no caller can print it.
import type { MachineFiles } from '../load/machine-files.ts';
import { ghHosts, ghHostsPath, type KnownCredential, knownCredentials } from './known-credentials.ts';

export interface FoundCredential {
  readonly name: string;
  readonly preset: string;
  readonly isModel: boolean;
  readonly place: 'variable' | 'file';
  /** The variable, or the file as a person writes it. */
  readonly where: string;
  readonly what: string;
  /** What to write as its source, as YAML; null: `sallyport run` finds it by itself. */
  readonly source: string | null;
}

type Looked = Pick<MachineFiles, 'env' | 'home' | 'readText'>;

export function findCredentials(machine: Looked, hasProgram: (program: string) => boolean): readonly FoundCredential[] {
  return knownCredentials.flatMap((known) => {
    const found = firstPlace(known, machine, hasProgram);
    return found === null ? [] : [found];
  });
}

/** The hosts at which gh is logged in: those beside github.com are GitHub Enterprise. */
export function findGhHosts(machine: Looked): readonly string[] {
  const text = machine.readText(`${machine.home}/${ghHostsPath}`);
  try {
    return text === null ? [] : ghHosts(text);
  } catch {
    return [];
  }
}

/** In the order in which `sallyport run` looks: what it would take is what is told. */
function firstPlace(
  { name, preset, isModel, variables, files }: KnownCredential,
  machine: Looked,
  hasProgram: (program: string) => boolean,
): FoundCredential | null {
  const found = { name, preset, isModel };
  const variable = variables.find((one) => (machine.env[one] ?? '').trim() !== '');
  if (variable !== undefined) {
    return { ...found, place: 'variable', where: variable, what: 'environment variable', source: null };
  }
  const file = files.find(({ path, holds }) => {
    const text = machine.readText(`${machine.home}/${path}`);
    try {
      return text !== null && holds(text);
    } catch {
      // Not what its agent writes.
      return false;
    }
  });
  if (file === undefined) return null;
  const source = file.program === undefined || hasProgram(file.program) ? file.source : null;
  return { ...found, place: 'file', where: `~/${file.path}`, what: file.what, source };
}
