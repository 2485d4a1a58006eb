// Where the gateway keeps its state, and the name of every place in it. The service, the command line and the
// tests take the names from here, so they cannot disagree. Touches no file.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

export interface Places {
  /** `$SALLYPORT_HOME`: private to the user who runs the gateway. */
  readonly home: string;
  readonly runDirectory: string;
  readonly adminSocket: string;
  /** Private sockets of sandboxes, one each. */
  readonly sandboxSockets: string;
  readonly caDirectory: string;
  readonly caCertificate: string;
  /** The CA that sandboxes prove themselves with; nothing trusts it for a host. */
  readonly identityCaDirectory: string;
  readonly journalDirectory: string;
  /** Pushes that wait to be judged. */
  readonly spoolDirectory: string;
  readonly registryFile: string;
  /** What this gateway is called among others of the same store. */
  readonly gatewayNameFile: string;
  /** What running sandboxes were given: one folder each, gone with it. */
  readonly sandboxFolders: string;
  /** The homes that `--home persist` keeps, one for each project. */
  readonly projectHomes: string;
  /** What package managers keep, one folder for each project. */
  readonly projectCaches: string;
  /** The one that all projects shared, of an earlier version. */
  readonly sharedHome: string;
  /** Where gateways beside the first keep their state: folders `2`, `3`, … used again when they are free. */
  readonly gatewaysDirectory: string;
  /** Where version 0.1 put them: one folder for each `run`, never used again. */
  readonly runsDirectory: string;
  /** What a gateway says that has no terminal. */
  readonly logFile: string;
}

/** `$SALLYPORT_HOME`, else `~/.local/state/sallyport`. */
export function findHome(env: NodeJS.ProcessEnv = process.env, userHome: string = homedir()): string {
  const named = env.SALLYPORT_HOME;
  if (named === undefined || named === '') return join(userHome, '.local', 'state', 'sallyport');
  return isAbsolute(named) ? resolve(named) : resolve(process.cwd(), named);
}

export function placesIn(home: string): Places {
  const runDirectory = join(home, 'run');
  const caDirectory = join(home, 'ca');
  return {
    home,
    runDirectory,
    adminSocket: join(runDirectory, 'admin.sock'),
    sandboxSockets: join(runDirectory, 'sandboxes'),
    caDirectory,
    caCertificate: join(caDirectory, 'ca.pem'),
    identityCaDirectory: join(home, 'identity-ca'),
    journalDirectory: join(home, 'journal'),
    spoolDirectory: join(home, 'spool'),
    registryFile: join(home, 'registry.json'),
    gatewayNameFile: join(home, 'gateway-name'),
    sandboxFolders: join(home, 'sandboxes'),
    projectHomes: join(home, 'homes'),
    projectCaches: join(home, 'caches'),
    sharedHome: join(home, 'home'),
    gatewaysDirectory: join(home, 'gateways'),
    runsDirectory: join(home, 'runs'),
    logFile: join(home, 'run.log'),
  };
}
