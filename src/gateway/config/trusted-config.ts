// Which configuration a gateway is started with, unless it may be a sandbox's work: one that lies where a sandbox could write
// is followed only when the user says that it is theirs.
import { readFileSync, statSync } from 'node:fs';

/** The configuration that would be found by itself may be a sandbox's work. */
export class UntrustedConfig extends Error {
  override readonly name = 'UntrustedConfig';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export interface ConfigQuestion {
  readonly what: string;
  /** What it said when it was last followed; null: it never was. */
  readonly before: string | null;
  readonly now: string;
}

/** Whether a person says that it is theirs. */
export type AskAboutConfig = (question: ConfigQuestion) => Promise<boolean>;

interface TrustPlaces {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly places: { readonly home: string };
}

/**
 * Returns it; null: the embedded default. Throws UntrustedConfig when the configuration that would be found by itself is in
 * doubt, and nobody who is asked says that it is theirs. One that is named is the user's from then on.
 */
export async function checkConfigIsTheUsers(
  { env, cwd, places }: TrustPlaces,
  flag: string | undefined,
  ask: AskAboutConfig | null = null,
): Promise<string | null> {
  const { findConfigFile } = await import('../../policy/load/find-config.ts');
  const { approveConfig, doubtOf } = await import('../../sandbox/traps/written-folders.ts');
  const { thisMachine } = await import('../../policy/load/machine-files.ts');
  const { lastFollowed, noteFollowed } = await import('../../sandbox/traps/followed-text.ts');
  // The very home that the gateway looks in: where HOME is not set, another file would be judged than is read.
  const file = findConfigFile({ flag, env, cwd, home: thisMachine(env).home });
  // A file that is not there is an error of its own, told by whoever reads it.
  if (file === null || !isReadable(file)) return file;
  const doubt = doubtOf(places.home, file);
  const isNamed = flag !== undefined || Boolean(env.SALLYPORT_CONFIG);
  if (doubt !== null && !isNamed) {
    const now = readFileSync(file, 'utf8');
    // What a sandbox can still write is nothing that a person could have read.
    const question = { what: doubt.what, before: lastFollowed(places.home, file), now };
    const isTheirs = !doubt.isStillWritable && (await ask?.(question)) === true && readFileSync(file, 'utf8') === now;
    if (!isTheirs) throw new UntrustedConfig(doubt.what, doubt.hint);
  }
  if (doubt !== null) approveConfig(places.home, file);
  noteFollowed(places.home, file);
  return file;
}

function isReadable(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
