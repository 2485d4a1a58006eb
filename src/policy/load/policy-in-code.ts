// A policy that a program has written down as an object: read, judged and reported like a file, but no file. What it says is
// asked anew at every reload, and it is nobody's to edit but the program's.
import type { MachineFiles } from './machine-files.ts';

/** Stands in the place of the file's path; no absolute path, so that nothing is looked for, guarded or written there. */
export const policyInCode = 'the policy given in code';

/** The machine on which that "file" can be read. */
export function machineWithPolicy(machine: MachineFiles, text: () => string): MachineFiles {
  return { ...machine, readText: (path) => (path === policyInCode ? text() : machine.readText(path)) };
}
