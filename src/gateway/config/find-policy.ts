// Where the policy of a gateway comes from, and what it may learn of the machine: a file by the contract's order, or an object
// of the program that has started it. Reads nothing yet.

import { ownPath } from '../../kit/process/own-path.ts';
import { findConfigFile } from '../../policy/load/find-config.ts';
import { type MachineFiles, thisMachine } from '../../policy/load/machine-files.ts';
import { machineWithPolicy, policyInCode } from '../../policy/load/policy-in-code.ts';
import type { StartOptions } from '../contract.ts';

export interface FoundPolicy {
  readonly machine: MachineFiles;
  /** Null: the embedded default. */
  readonly configFile: string | null;
  /** The variables of the process, from which a credential is taken out when it is read. */
  readonly env: NodeJS.ProcessEnv;
}

export function findPolicy({ config, document, guest, userKeys }: StartOptions): FoundPolicy {
  const env = guest === true ? guestEnvironment() : process.env;
  const machine = { ...thisMachine(env), registryLogins: userKeys === true };
  if (document !== undefined) return { machine: machineWithPolicy(machine, document), configFile: policyInCode, env };
  if (config === null) return { machine, configFile: null, env };
  return { machine, configFile: findConfigFile({ flag: config, env, cwd: process.cwd(), home: machine.home }), env };
}

/** A copy: what is taken out of it stays in the process that is not ours. Its PATH is always that for our own programs. */
function guestEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  return Object.defineProperty(env, 'PATH', { get: () => ownPath(), enumerable: true });
}
