// Decides, part by part, what of the host goes into the draft of a sandbox's mounts: the system, the working directory, what
// was asked for, programs, masks. Whatever it lets in was judged first; what must not be let in throws.
import { basename, dirname } from 'node:path';
import { configFileName } from '../../policy/load/config-places.ts';
import { LaunchError } from '../run/sandbox-plan.ts';
import { guardConfiguration } from '../traps/config-guards.ts';
import type { GitGuards, StandIn } from '../traps/git-guards.ts';
import { gitMounts, protectRepository } from '../traps/git-mounts.ts';
import type { HostFiles } from './host-files.ts';
import { dangersIn, judgeMount } from './judge-mount.ts';
import type { MountDraft } from './mount-draft.ts';
import { joined, liesIn, liesInAny, moved, normalPath } from './path-relations.ts';
import type { MountOptions } from './plan-mounts.ts';
import { findSecretFiles } from './secret-files.ts';
import type { DangerSurvey } from './survey-dangers.ts';
import { systemFolders, systemMounts } from './system-mounts.ts';
import { findTools } from './tool-mounts.ts';
import { checkTarget } from './user-mounts.ts';

/** Top folders that hold everybody's things. */
const notForProjects = ['/opt', '/srv', '/var', '/mnt', '/media', '/home', '/nix', '/snap'];
/** Below the system and yet made for source code. */
const sourceFolders = ['/opt', '/usr/src', '/usr/local/src'];
const maxNamed = 6;
/** Each takes several mounts. */
const maxRepositories = 50;

export class MountPlanner {
  readonly notices: string[] = [];
  readonly #options: MountOptions;
  readonly #survey: DangerSurvey;
  readonly #files: HostFiles;
  readonly #draft: MountDraft;
  /** Folders that the sandbox sees where they are on the host. */
  readonly #letIn: string[] = [];
  /** Folders of the host that it can write to, where they really are. */
  readonly #writable: string[] = [];
  /** Git folders that the sandbox can write, and files that lead to one. */
  readonly #repositories: string[] = [];
  readonly #pointers: string[] = [];
  /** What must be there before anything can be mounted over it. */
  readonly standIns: StandIn[] = [];
  /** Files and folders of git that the sandbox cannot write as long as nobody on the host replaces them. */
  readonly guarded: string[] = [];

  constructor(options: MountOptions, survey: DangerSurvey, files: HostFiles, draft: MountDraft) {
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
    if (notForProjects.includes(source)) return refuse('many programs and people keep files there');
    if (liesInAny(source, systemFolders) && !liesInAny(source, sourceFolders))
      return refuse('it is part of the system');
    this.#letInFolder('read-write', source, bothNames(spelled, this.#files), judged.masks);
    this.#letIn.push(...bothNames(spelled, this.#files));
    return spelled;
  }

  admitAsked(places: { home: string; workingDirectory: string; bound: readonly string[] }): void {
    const targets = new Set<string>();
    for (const mount of this.#options.asked) {
      const option = `${mount.mode === 'read-write' ? '--mount' : '--ro'} ${mount.source}`;
      if (targets.has(mount.target))
        throw new LaunchError(
          `${option}: something else is already mounted at ${mount.target}`,
          'Name another target.',
        );
      targets.add(mount.target);
      // What it is comes first: no other target would make it pass.
      const judged = judgeMount(mount.source, this.#survey, this.#files);
      if (judged.refused !== null) throw new LaunchError(`${option}: ${judged.refused.reason}`, judged.refused.hint);
      if (mount.mode === 'read-write' && basename(judged.source) === configFileName)
        throw new LaunchError(`${option}: a sandbox that can write a policy writes its own`, 'Let it in with --ro.');
      checkTarget(mount, places);
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

  /** What must not be changed from inside: the configuration, and what git on the host would run, of every repository. */
  protect(workingDirectory: string): void {
    const real = this.#files.realPath(workingDirectory) ?? workingDirectory;
    const access = this.#options.gitConfig ?? 'read-only';
    // A mount by itself, as elsewhere: or it could be renamed with all that is guarded in it.
    if (this.#options.flavour === 'whole') for (const folder of this.#writable) this.#draft.pin(folder, 'read-write');
    const own = gitMounts(real, this.#survey, this.#files, access);
    this.notices.push(...own.notices);
    this.#guard(own);
    const others = this.#repositories.filter((folder) => folder !== joined(real, '.git'));
    for (const folder of others.slice(0, maxRepositories)) this.#guard(protectRepository(folder, this.#files, access));
    const pointers = this.#pointers.slice(0, maxRepositories);
    this.#guard({ mounts: pointers.map((path) => ({ kind: 'read-only', path })), standIns: [] });
    if (Math.max(others.length, this.#pointers.length) > maxRepositories)
      this.notices.push(
        `${others.length} repositories and ${this.#pointers.length} worktrees or submodules are let in: hooks and settings of ${maxRepositories} each are protected`,
      );
    for (const path of this.#options.keep ?? []) {
      const guard = guardConfiguration(path, this.#writable, this.#files);
      if (guard === null || !(this.#options.flavour === 'whole' || this.#draft.shows(guard.file))) continue;
      if (guard.standIn !== null) this.standIns.push(guard.standIn);
      this.#draft.pin(guard.file);
    }
  }

  #guard({ mounts, standIns }: Pick<GitGuards, 'mounts' | 'standIns'>): void {
    for (const { path, kind, onlyIfSeen } of mounts) {
      if (onlyIfSeen === true && this.#options.flavour !== 'whole' && !this.#draft.shows(path)) continue;
      this.#draft.pin(path, kind);
      if (kind === 'read-only') this.guarded.push(path);
    }
    this.standIns.push(...standIns);
  }

  #letInFolder(
    kind: 'read-only' | 'read-write',
    source: string,
    targets: readonly string[],
    masks: readonly Hidden[],
  ): void {
    const search = findSecretFiles(source, this.#files, { hideEnvFiles: this.#options.hideEnvFiles ?? false });
    if (kind === 'read-write') {
      this.#writable.push(source);
      const own = joined(source, '.git');
      const kind = this.#files.look(own)?.kind;
      if (kind === 'folder') this.#repositories.push(own);
      if (kind === 'file') this.#pointers.push(own);
      this.#repositories.push(...search.repositories);
      this.#pointers.push(...search.pointers);
    }
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
    for (const { real } of hidden) this.#draft.fixFolders(real);
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

/** A path as it is spelled and as it really is: programs were built with the one or the other. */
export function bothNames(path: string, files: HostFiles): string[] {
  return [...new Set([path, files.realPath(path) ?? path])];
}

function listed(items: readonly string[]): string {
  const rest = items.length - maxNamed;
  return rest > 0 ? `${items.slice(0, maxNamed).join(', ')} and ${rest} more` : items.join(', ');
}
