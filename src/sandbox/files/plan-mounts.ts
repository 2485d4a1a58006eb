// Everything a sandbox sees of the file system, as one ordered list: the system read-only, the working directory, a home and
// a /tmp of its own, the programs on the PATH, and what the user asked for. Never lets in what the blocklist names.

import type { Mount } from '../run/sandbox-plan.ts';
import { sandboxUser } from '../run/sandbox-user.ts';
import { sandboxShell, writeSandboxEtc } from '../stubs/sandbox-etc.ts';
import type { GitConfigAccess, StandIn } from '../traps/git-guards.ts';
import { type HostFiles, hostFiles } from './host-files.ts';
import { MountDraft } from './mount-draft.ts';
import { bothNames, MountPlanner } from './mount-planner.ts';
import { joined, liesInAny, normalPath } from './path-relations.ts';
import { surveyDangers } from './survey-dangers.ts';
import { systemFolders } from './system-mounts.ts';
import { pathFolders } from './tool-mounts.ts';
import type { RequestedMount } from './user-mounts.ts';

/** `host`: the host's system, read-only. `image`: the image has a system of its own. `whole`: the host as it is, with masks. */
export type MountFlavour = 'host' | 'image' | 'whole';

/** A file or folder made for the sandbox (trust, git, agents' stubs), bound read-only. */
export interface BoundFile {
  readonly source: string;
  readonly target: string;
}

export interface MountOptions {
  readonly flavour: MountFlavour;
  /** The user's home. The sandbox has its own at the same path. */
  readonly home: string;
  /** Whoever starts it. Inside, root is somebody else (sandbox-user.ts) and called `agent`, but not in an image. */
  readonly user: { readonly uid: number; readonly gid: number; readonly name: string };
  /** As the user spells it; it is mounted where it really is as well. */
  readonly workingDirectory: string;
  /** Private folders on disk that become the sandbox's home and its /tmp. */
  readonly homeFolder: string;
  readonly tmpFolder: string;
  /** Where the made files of /etc are written: an existing folder. In `whole`, the folder around it stays visible. */
  readonly etcFolder: string;
  /** $SALLYPORT_HOME: never let in. */
  readonly stateFolder: string;
  /** The user's own environment: PATH, DOCKER_HOST, SSH_AUTH_SOCK and the like name what to show and what to hide. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Programs that must be found inside: the command's first word, the path of node. */
  readonly programs: readonly string[];
  /** Trust, git and stubs, bound after everything else. */
  readonly files: readonly BoundFile[];
  /** Folders made for the sandbox that it has in its home, to read and to write; the target is below the home. */
  readonly homeFolders?: readonly BoundFile[];
  /** `--mount` and `--ro`. */
  readonly asked: readonly RequestedMount[];
  /** Files the sandbox may read and never change: the configuration in force. */
  readonly keep?: readonly string[];
  /** Files it never sees: those that the configuration takes credentials from. */
  readonly hide?: readonly string[];
  /** `.env` files are masked too. */
  readonly hideEnvFiles?: boolean;
  /** Settings of git in the repositories that are let in. Left out: read-only. */
  readonly gitConfig?: GitConfigAccess;
}

export interface PlannedMounts {
  readonly mounts: readonly Mount[];
  /** To be made before anything is mounted. */
  readonly standIns: readonly StandIn[];
  /** Of git, read-only inside unless somebody on the host replaces it meanwhile. */
  readonly guarded: readonly string[];
  /** For the user: what was masked or left out, and why. */
  readonly notices: readonly string[];
  /** The folders for PATH, all of them visible inside; null for `image`, which has its own. */
  readonly path: readonly string[] | null;
  /** As the sandbox sees them. The home is not always the user's: `whole` has it where it lies on disk. */
  readonly workingDirectory: string;
  readonly home: string;
  readonly userName: string;
}

/** Throws LaunchError when something that was asked for must not be let in. */
export function planMounts(options: MountOptions, files: HostFiles = hostFiles): PlannedMounts {
  const { flavour, environment, user, stateFolder, hide = [] } = options;
  const survey = surveyDangers(
    { home: options.home, uid: process.getuid?.() ?? 0, stateFolder, environment, hide },
    files,
  );
  const draft = new MountDraft();
  const planner = new MountPlanner(options, survey, files, draft);
  const home = flavour === 'whole' ? options.homeFolder : homeInside(options, files);
  const inside = userInside(user, flavour);
  const etc = writeSandboxEtc(
    { flavour, folder: options.etcFolder, user: inside, home, shell: sandboxShell(environment.SHELL, files) },
    files,
  );
  const bound = [...etc, ...options.files];

  if (flavour === 'host') planner.showSystem();
  if (flavour !== 'whole') {
    draft.add({ kind: 'read-write', source: options.tmpFolder, target: '/tmp' });
    for (const target of bothNames(home, files)) draft.add({ kind: 'read-write', source: options.homeFolder, target });
  }
  const workingDirectory = planner.admitWorkingDirectory();
  planner.admitAsked({ home, workingDirectory, bound: bound.map(({ target }) => target) });
  const path = flavour === 'host' ? planner.showTools(workingDirectory) : null;
  for (const { source, target } of bound) draft.cover({ kind: 'read-only', source, target });
  for (const { source, target } of options.homeFolders ?? [])
    for (const at of bothNames(home, files)) draft.cover({ kind: 'read-write', source, target: joined(at, target) });
  if (flavour === 'whole') planner.maskHost();
  planner.protect(workingDirectory);
  draft.refuseLinks(files);
  return {
    mounts: draft.ordered(),
    standIns: planner.standIns,
    guarded: [...new Set(planner.guarded)],
    notices: planner.notices,
    path: flavour === 'whole' ? pathFolders(environment.PATH, files) : path,
    workingDirectory,
    home,
    userName: inside.name,
  };
}

/** Two of one name, or a root without its uid, would confuse most programs. */
function userInside({ uid, gid, name }: MountOptions['user'], flavour: MountFlavour): MountOptions['user'] {
  // In a container nobody is mapped.
  const mapped = flavour === 'image' ? { uid, gid } : sandboxUser(uid, gid);
  return { ...mapped, name: name === 'root' && mapped.uid !== 0 ? 'agent' : name };
}

/** The user's home by its own path, unless that is part of the system, as with the accounts of services. */
function homeInside({ home, user }: MountOptions, files: HostFiles): string {
  const path = normalPath(home);
  const usable =
    path !== null &&
    path !== '/' &&
    !liesInAny(files.realPath(path) ?? path, [...systemFolders, '/proc', '/dev', '/run']);
  return usable ? path : `/home/${user.name.replace(/[^\w.-]/g, '_')}`;
}
