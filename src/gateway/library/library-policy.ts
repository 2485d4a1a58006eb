// The policy of a gateway that a program starts: a file, an object, or what is found by the contract's order. Every way leads
// through the same reader and has the same errors. What a sandbox may have written is never followed unasked.
import { resolve } from 'node:path';
import { findConfigFile } from '../../policy/load/find-config.ts';
import { thisMachine } from '../../policy/load/machine-files.ts';
import { policyInCode } from '../../policy/load/policy-in-code.ts';
import { PolicyRejected } from '../../policy/schema/policy-rejected.ts';
import { LaunchError } from '../../sandbox/run/sandbox-plan.ts';
import { checkConfigIsTheUsers, UntrustedConfig } from '../config/trusted-config.ts';
import type { StartOptions } from '../contract.ts';
import type { PolicyDocument } from './library-gateway.ts';

interface PolicyPlaces {
  /** The state directory, which knows where sandboxes could write. */
  readonly home: string;
  /** Where a `sallyport.yaml` is looked for. */
  readonly cwd: string;
}

export class LibraryPolicy {
  /** Null: it is a file. */
  #text: string | null;
  readonly #file: string | null;

  private constructor(file: string | null, text: string | null) {
    this.#file = file;
    this.#text = text;
  }

  static async find(config: string | PolicyDocument | undefined, { home, cwd }: PolicyPlaces): Promise<LibraryPolicy> {
    if (typeof config === 'object') return new LibraryPolicy(null, textOf(config));
    const { env, home: userHome } = thisMachine();
    try {
      await checkConfigIsTheUsers({ env, cwd, places: { home } }, config);
    } catch (error) {
      if (!(error instanceof UntrustedConfig)) throw error;
      throw new LaunchError(error.message, 'Read it. If it is yours, name it: config: FILE');
    }
    const file = findConfigFile({ flag: config, env, cwd, home: userHome });
    return new LibraryPolicy(file === null ? null : resolve(cwd, file), null);
  }

  asStartOptions(): Pick<StartOptions, 'config' | 'document'> {
    return this.#text === null ? { config: this.#file } : { document: () => this.#text ?? '' };
  }

  /** Another object, for the next reload. Returns how to go back to the one before. */
  replace(config: PolicyDocument): () => void {
    const before = this.#text;
    if (before === null)
      throw new TypeError('the policy of this gateway is a file: change the file, or start it with an object');
    this.#text = textOf(config);
    return () => {
      this.#text = before;
    };
  }
}

/** JSON is YAML: the reader takes it as it is. */
function textOf(config: PolicyDocument): string {
  try {
    return JSON.stringify(config, null, 2);
  } catch (error) {
    const message = `it cannot be written as YAML: ${error instanceof Error ? error.message : error}`;
    throw new PolicyRejected([{ file: policyInCode, line: 1, column: 1, path: '', message }]);
  }
}
