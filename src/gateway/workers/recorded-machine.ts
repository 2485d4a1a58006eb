// What a policy has seen of the machine when it was compiled, so that a worker compiles the very same policy: a file that
// was changed since would make another. Only what was asked for is kept, and it goes to workers alone.
import type { MachineFiles } from '../../policy/load/machine-files.ts';

export interface SeenByPolicy {
  readonly texts: Readonly<Record<string, string | null>>;
  readonly directories: Readonly<Record<string, readonly string[]>>;
  /** By the command line, as JSON. */
  readonly runs: Readonly<Record<string, string | null>>;
}

/** A machine that remembers what it was asked, and what it said last. */
export class RecordedMachine implements MachineFiles {
  readonly env: MachineFiles['env'];
  readonly home: string;
  readonly registryLogins: boolean;
  readonly #machine: MachineFiles;
  readonly #seen: { [K in keyof SeenByPolicy]: Record<string, SeenByPolicy[K][string]> } = {
    texts: {},
    directories: {},
    runs: {},
  };

  constructor(machine: MachineFiles) {
    this.#machine = machine;
    this.env = machine.env;
    this.home = machine.home;
    this.registryLogins = machine.registryLogins === true;
  }

  /** As it is now, when a policy has just been compiled: a later one that fails changes nothing in it. */
  snapshot(): SeenByPolicy {
    const { texts, directories, runs } = this.#seen;
    return { texts: { ...texts }, directories: { ...directories }, runs: { ...runs } };
  }

  readText(path: string): string | null {
    const text = this.#machine.readText(path);
    this.#seen.texts[path] = text;
    return text;
  }

  listDirectory(path: string): readonly string[] {
    const names = this.#machine.listDirectory(path);
    this.#seen.directories[path] = names;
    return names;
  }

  async run(argv: readonly string[]): Promise<string | null> {
    const output = await this.#machine.run(argv);
    this.#seen.runs[JSON.stringify(argv)] = output;
    return output;
  }
}

/** The machine as it was seen: what nobody has asked for is not there. */
export class ReplayedMachine implements MachineFiles {
  readonly env: MachineFiles['env'];
  readonly home: string;
  readonly registryLogins: boolean;
  #seen: SeenByPolicy;

  constructor(
    { env, home, registryLogins }: Pick<MachineFiles, 'env' | 'home' | 'registryLogins'>,
    seen: SeenByPolicy,
  ) {
    this.env = env;
    this.home = home;
    this.registryLogins = registryLogins === true;
    this.#seen = seen;
  }

  show(seen: SeenByPolicy): void {
    this.#seen = seen;
  }

  readText(path: string): string | null {
    return own(this.#seen.texts, path) ?? null;
  }

  listDirectory(path: string): readonly string[] {
    return own(this.#seen.directories, path) ?? [];
  }

  run(argv: readonly string[]): Promise<string | null> {
    return Promise.resolve(own(this.#seen.runs, JSON.stringify(argv)) ?? null);
  }
}

function own<T>(seen: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(seen, name) ? seen[name] : undefined;
}
