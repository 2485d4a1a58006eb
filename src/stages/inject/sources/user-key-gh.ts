// Asks gh for the token that it keeps in the user's keyring. A program is run for it, on the user's side of the door and
// with the user's rights: so never one that an agent could have put there.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join, sep } from 'node:path';

/** A locked keyring asks a person for its password, and nobody may be there. */
const timeLimitMs = 5000;
/** What gh and the keyring's client need to find themselves; nothing that could be a credential. */
const passedOn = ['HOME', 'USER', 'LANG', 'LC_ALL', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'DBUS_SESSION_BUS_ADDRESS'];

export interface GhPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The sandbox's working directory, where agents write. */
  readonly workingDirectory: string;
}

/** null: gh is not there, or has no token to give. */
export function askGh(place: GhPlace): string | null {
  const program = findGh(place);
  if (program === null) return null;
  const env: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin', GH_NO_UPDATE_NOTIFIER: '1' };
  for (const name of passedOn) {
    const value = place.env[name];
    if (value !== undefined) env[name] = value;
  }
  try {
    const printed = execFileSync(program, ['auth', 'token', '--hostname', 'github.com'], {
      env: { ...env, HOME: place.home },
      cwd: '/',
      encoding: 'utf8',
      timeout: timeLimitMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return printed.trim() === '' ? null : printed.trim();
  } catch {
    // The error of a child process carries what it printed; it goes no further.
    return null;
  }
}

/** Guards: `node_modules/.bin` in PATH (npx puts it there) with a `gh` that an agent wrote in an earlier run. */
function findGh({ env, workingDirectory }: GhPlace): string | null {
  const agents = realpathSync(workingDirectory);
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    try {
      const program = realpathSync(join(folder, 'gh'));
      accessSync(program, constants.X_OK);
      if (!isWithin(agents, program) && !isWithin(agents, realpathSync(folder))) return program;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
