// Everything a sandbox sees of the file system, as one ordered list: the system read-only, the working directory, a home and
// a /tmp of its own, the programs on the PATH, and what the user asked for. Never lets in what the blocklist names.
import { dirname } from 'node:path';
import { gitMounts } from './git-mounts.ts';
import { type HostFiles, hostFiles } from './host-files.ts';
import { dangersIn, judgeMount } from './judge-mount.ts';
import { MountDraft } from './mount-draft.ts';
import { joined, liesIn, liesInAny, moved, normalPath } from './path-relations.ts';
import { sandboxShell, writeSandboxEtc } from './sandbox-etc.ts';
import { LaunchError, type Mount } from './sandbox-plan.ts';
import { findSecretFiles } from './secret-files.ts';
import { type Survey, surveyDangers } from './survey-dangers.ts';
import { systemFolders, systemMounts } from './system-mounts.ts';
import { findTools, pathFolders } from './tool-mounts.ts';
import { checkTarget, type RequestedMount } from './user-mounts.ts';

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
  /** As the sandbox has it. */
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
  /** `--mount` and `--ro`. */
  readonly asked: readonly RequestedMount[];
  /** Files the sandbox may read and never change: the configuration in force. */
  readonly keep?: readonly string[];
  /** Files it never sees: those that the configuration takes credentials from. */
  readonly hide?: readonly string[];
  /** `.env` files are masked too. */
  readonly hideEnvFiles?: boolean;
}

export interface PlannedMounts {
  readonly mounts: readonly Mount[];
  /** For the user: what was masked or left out, and why. */
  readonly notices: readonly string[];
  /** The folders for PATH, all of them visible inside; null for `image`, which has its own. */
  readonly path: readonly string[] | null;
  /** As the sandbox sees them. The home is not always the user's: `whole` has it where it lies on disk. */
  readonly workingDirectory: string;
  readonly home: string;
}

/** Throws LaunchError when something that was asked for must not be let in. */
export function planMounts(options: MountOptions, files: HostFiles = hostFiles): PlannedMounts {
  const { flavour, environment, user, stateFolder, hide = [] } = options;
  const survey = surveyDangers(
    { home: options.home, uid: process.getuid?.() ?? 0, stateFolder, environment, hide },
    files,
  );
  const draft = new MountDraft();
  const planner = new Planner(options, survey, files, draft);
  const home = flavour === 'whole' ? options.homeFolder : homeInside(options, files);
  const etc = writeSandboxEtc(
    { flavour, folder: options.etcFolder, user, home, shell: sandboxShell(environment.SHELL, files) },
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
  if (flavour === 'whole') planner.maskHost();
  planner.protect(workingDirectory);
  draft.refuseLinks(files);
  return {
    mounts: draft.ordered(),
    notices: planner.notices,
    path: flavour === 'whole' ? pathFolders(environment.PATH, files) : path,
    workingDirectory,
    home,
  };
}

/** Top folders that hold everybody's things. */
const notForProjects = ['/opt', '/srv', '/var', '/mnt', '/media', '/home', '/nix', '/snap'];
/** Below the system and yet made for source code. */
const sourceFolders = ['/opt', '/usr/src', '/usr/local/src'];
const maxNamed = 6;

class Planner {
  readonly notices: string[] = [];
  readonly #options: MountOptions;
  readonly #survey: Survey;
  readonly #files: HostFiles;
  readonly #draft: MountDraft;
  /** Folders that the sandbox sees where they are on the host. */
  readonly #letIn: string[] = [];

  constructor(options: MountOptions, survey: Survey, files: HostFiles, draft: MountDraft) {
    this.#options = options;
    this.#survey = survey;
    this.#files = files;
    this.#draft = draft;
  }

  showSystem(): void {
    const system = systemMounts(this.#files);
    this.#draft.add(...system.mounts);
    this.notices.push(...system.notices);
    // Everybody may read some of what the blocklist names, such as a folder of host keys.
    for (const mount of system.mounts)
      if (mount.kind === 'read-only')
        this.#maskIn(mount.source, mount.target, dangersIn(mount.source, this.#survey.dangers));
  }

  admitWorkingDirectory(): string {
    const spelled = normalPath(this.#options.workingDirectory) ?? '';
    const refuse = (reason: string) => {
      throw new LaunchError(
        `a sandbox cannot work in ${spelled}: ${reason}`,
        'Change to the folder of a project and run it there.',
      );
    };
    const judged = judgeMount(spelled, this.#survey, this.#files);
    if (judged.refused !== null) return refuse(judged.refused.reason);
    const { source, kind } = judged;
    if (kind !== 'folder') return refuse('it is not a folder');
    if (notForProjects.includes(source)) return refuse('it holds the things of many programs and people');
    if (liesInAny(source, systemFolders) && !liesInAny(source, sourceFolders))
      return refuse('it is part of the system');
    this.#letInFolder('read-write', source, bothNames(spelled, this.#files), judged.masks);
    this.#letIn.push(...bothNames(spelled, this.#files));
    return spelled;
  }

  admitAsked(places: { home: string; workingDirectory: string; bound: readonly string[] }): void {
    const targets = new Set<string>();
    for (const mount of this.#options.asked) {
      checkTarget(mount, places);
      const option = `${mount.mode === 'read-write' ? '--mount' : '--ro'} ${mount.source}`;
      if (targets.has(mount.target))
        throw new LaunchError(
          `${option}: something else is mounted at ${mount.target} already`,
          'Name another target.',
        );
      targets.add(mount.target);
      const judged = judgeMount(mount.source, this.#survey, this.#files);
      if (judged.refused !== null) throw new LaunchError(`${option}: ${judged.refused.reason}`, judged.refused.hint);
      if (judged.kind === 'folder') this.#letInFolder(mount.mode, judged.source, [mount.target], judged.masks);
      else this.#draft.add({ kind: mount.mode, source: judged.source, target: mount.target });
      if (judged.source === mount.target) this.#letIn.push(mount.target);
    }
  }

  showTools(workingDirectory: string): readonly string[] {
    const { environment, programs } = this.#options;
    const wanted = { environment, programs, workingDirectory, letIn: this.#letIn };
    const found = findTools(wanted, this.#survey, this.#files);
    for (const { source, target, masks } of found.tools) {
      this.#draft.add({ kind: 'read-only', source, target });
      this.#maskIn(source, target, masks);
    }
    this.notices.push(...found.notices);
    return found.path;
  }

  /** Where the whole host is visible: everything dangerous on it, around what the sandbox itself needs. */
  maskHost(): void {
    const { homeFolder, tmpFolder, etcFolder } = this.#options;
    const needed = [homeFolder, tmpFolder, dirname(etcFolder)].map((path) => this.#files.realPath(path) ?? path);
    for (const danger of dangersIn('/', this.#survey.dangers))
      this.#maskAround(danger.real, [...needed, ...danger.except]);
  }

  /** What must not be changed from inside: the configuration, the hooks of the repository. */
  protect(workingDirectory: string): void {
    const real = this.#files.realPath(workingDirectory) ?? workingDirectory;
    const git = gitMounts(real, this.#survey, this.#files);
    for (const mount of git.mounts) {
      const seen = this.#draft.seenAt(mount.path, ['read-write']).map(({ target }) => target);
      for (const target of seen.length > 0 ? seen : [mount.path])
        this.#draft.add(
          mount.kind === 'masked-folder'
            ? { kind: mount.kind, target }
            : { kind: mount.kind, source: mount.path, target },
        );
    }
    this.notices.push(...git.notices);
    for (const path of this.#options.keep ?? []) {
      const file = this.#files.realPath(path);
      if (file !== null) this.#draft.pin(file);
    }
  }

  #letInFolder(
    kind: 'read-only' | 'read-write',
    source: string,
    targets: readonly string[],
    masks: readonly Hidden[],
  ): void {
    const search = findSecretFiles(source, this.#files, { hideEnvFiles: this.#options.hideEnvFiles ?? false });
    const found = search.found.map((file) => ({ ...file, real: file.path }));
    for (const target of targets) {
      if (this.#options.flavour !== 'whole') this.#draft.add({ kind, source, target });
      this.#maskIn(source, target, [...masks, ...found]);
    }
    const named = [...masks, ...found].map(({ real, rule }) => `${moved(real, source, '.')} (${rule})`);
    if (named.length > 0)
      this.notices.push(
        `hidden in ${source}: ${listed(named)}. The sandbox sees them as empty; git may call them changed.`,
      );
    if (!search.complete)
      this.notices.push(
        `${source} is large: not all of it was searched for files with credentials. --ro or --mount a smaller folder.`,
      );
  }

  #maskIn(source: string, target: string, hidden: readonly Hidden[]): void {
    for (const { real, kind } of hidden)
      this.#draft.add({
        kind: kind === 'folder' ? 'masked-folder' : 'masked-file',
        target: moved(real, source, target),
      });
  }

  #maskAround(path: string, needed: readonly string[]): void {
    if (needed.includes(path)) return;
    const facts = this.#files.look(path);
    if (facts === null || facts.kind === 'link') return;
    if (facts.kind !== 'folder') this.#draft.add({ kind: 'masked-file', target: path });
    else if (!needed.some((inside) => liesIn(inside, path))) this.#draft.add({ kind: 'masked-folder', target: path });
    else for (const { name } of this.#files.list(path)) this.#maskAround(joined(path, name), needed);
  }
}

interface Hidden {
  readonly real: string;
  readonly kind: string;
  readonly rule: string;
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

/** A path as it is spelled and as it really is: programs were built with the one or the other. */
function bothNames(path: string, files: HostFiles): string[] {
  return [...new Set([path, files.realPath(path) ?? path])];
}

function listed(items: readonly string[]): string {
  const rest = items.length - maxNamed;
  return rest > 0 ? `${items.slice(0, maxNamed).join(', ')} and ${rest} more` : items.join(', ');
}
