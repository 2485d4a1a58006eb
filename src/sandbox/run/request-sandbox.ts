// What a caller asks for becomes what `startSandbox` takes: the launcher, where its folders are made, which home it has.
// Shared by `sallyport run` and the library. Changes nothing of the process it runs in.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Places } from '../../kit/files/home.ts';
import { liesIn } from '../files/path-relations.ts';
import type { RequestedMount } from '../files/user-mounts.ts';
import { cleanRunFolders } from '../stubs/run-folder.ts';
import type { GitConfigAccess } from '../traps/git-guards.ts';
import { findLauncher } from './find-launcher.ts';
import type { AskedCache } from './package-caches.ts';
import { openProjectHome } from './project-home.ts';
import { LaunchError, type LauncherName } from './sandbox-plan.ts';
import type { SandboxRequest, SettingsChoice } from './start-sandbox.ts';

export interface RequestedSandbox
  extends Pick<
    SandboxRequest,
    | 'command'
    | 'stdio'
    | 'registration'
    | 'name'
    | 'background'
    | 'limits'
    | 'onTimeOver'
    | 'workingDirectory'
    | 'environment'
    | 'mounts'
    | 'variables'
    | 'hideEnvFiles'
  > {
  readonly launcher?: LauncherName | undefined;
  readonly settings?: SettingsChoice | undefined;
  readonly caches?: readonly AskedCache[] | undefined;
  /** Left out: read-only. */
  readonly gitConfig?: GitConfigAccess | undefined;
  readonly image?: string | undefined;
  /** PATH for programs of our own, beside the user's in `environment`. */
  readonly ownPath: string | undefined;
  readonly places: Pick<Places, 'home' | 'sandboxFolders' | 'projectHomes' | 'sharedHome' | 'projectCaches'>;
  /** The home that is kept for the next one in this project; else a fresh one. */
  readonly keepHome: boolean;
}

/** Throws LaunchError where it cannot be started here. */
export async function requestSandbox(requested: RequestedSandbox): Promise<SandboxRequest> {
  const { environment, places } = requested;
  refuseStateInside(requested);
  const own = { ...environment, PATH: requested.ownPath };
  const launcher = await findLauncher({ wanted: requested.launcher, image: requested.image, environment: own });
  // In plain unshare the files of the host stay where they are, and the state directory is out of sight: not there.
  const runFolders =
    launcher.name === 'unshare' ? join(tmpdir(), `sallyport-sandboxes-${process.geteuid?.()}`) : places.sandboxFolders;
  void cleanRunFolders(runFolders).catch(() => {});
  const kept = requested.keepHome ? await openProjectHome(places, requested.workingDirectory) : null;
  return {
    launcher,
    command: requested.command,
    stdio: requested.stdio,
    registration: requested.registration,
    workingDirectory: requested.workingDirectory,
    environment,
    userHome: environment.HOME ?? '/',
    stateFolder: places.home,
    runFolders,
    persistentHome: kept?.folder ?? null,
    notices: kept?.notices ?? [],
    mounts: requested.mounts,
    variables: requested.variables,
    hideEnvFiles: requested.hideEnvFiles,
    gitConfig: requested.gitConfig,
    name: requested.name,
    background: requested.background === true,
    limits: requested.limits,
    ...(requested.onTimeOver !== undefined && { onTimeOver: requested.onTimeOver }),
    settings: requested.settings,
    caches: requested.caches ?? [],
    projectCaches: places.projectCaches,
  };
}

/** What is hidden from a sandbox cannot be hidden file by file in a folder that is hidden as a whole. A home is refused elsewhere. */
function refuseStateInside({ environment, places, workingDirectory, mounts }: RequestedSandbox): void {
  const home = environment.HOME ?? '/';
  const around = [workingDirectory, ...mounts.map(({ source }) => source)].find(
    (folder) => liesIn(places.home, folder) && !liesIn(home, folder),
  );
  if (around === undefined) return;
  throw new LaunchError(
    `the sandbox would get ${around}, and the state of Sallyport is in it (${places.home})`,
    'Keep the state elsewhere: set SALLYPORT_HOME to a folder outside, or leave it unset.',
  );
}

/** The folders of the host that it can write to. */
export function writableIn(mounts: readonly RequestedMount[]): string[] {
  return mounts.filter(({ mode }) => mode === 'read-write').map(({ source }) => source);
}
