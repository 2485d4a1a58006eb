// The programs the user has outside the system (nvm, pyenv, ~/.local/bin, cargo, npm's prefix…), so that a command is found
// inside as it is outside. Read-only, each with the installation it belongs to and nothing more: never a home, never ~/.local.
import { basename, dirname } from 'node:path';
import type { HostFiles } from './host-files.ts';
import { judgeMount } from './judge-mount.ts';
import { depthOf, joined, liesIn, liesInAny, normalPath } from './path-relations.ts';
import type { Danger, DangerSurvey } from './survey-dangers.ts';
import { systemFolders } from './system-mounts.ts';

export interface ToolOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names to be looked up in PATH, or paths. */
  readonly programs: readonly string[];
  readonly workingDirectory: string;
  /** Folders that are let in at their own path anyway. */
  readonly letIn: readonly string[];
}

export interface Tool {
  readonly source: string;
  readonly target: string;
  readonly masks: readonly Danger[];
}

export interface FoundTools {
  readonly tools: readonly Tool[];
  readonly path: readonly string[];
  readonly notices: readonly string[];
}

/** ~/.local/bin may be full of links; what the command needs is looked up by itself. */
const maxLinksPerFolder = 400;

export function findTools(options: ToolOptions, survey: DangerSurvey, files: HostFiles): FoundTools {
  const path = pathFolders(options.environment.PATH, files);
  const search = new ToolSearch(options, survey, files);
  const usable = path.filter((folder) => search.showFolder(folder));
  for (const program of options.programs) search.showProgram(program, path);
  return { tools: search.tools, path: usable, notices: search.notices };
}

/** The folders of a PATH, where they really are. Relative ones are not looked at: they depend on where one stands. */
export function pathFolders(path: string | undefined, files: HostFiles): string[] {
  const real = (path ?? '').split(':').flatMap((entry) => {
    const spelled = normalPath(entry);
    const found = spelled === null ? null : files.realPath(spelled);
    if (spelled === null || found === null || files.look(found)?.kind !== 'folder') return [];
    // Windows programs under WSL: they cannot run in a sandbox.
    if (/^\/mnt\/[a-z](?:\/|$)/.test(found)) return [];
    return [liesInAny(spelled, systemFolders) ? spelled : found];
  });
  return [...new Set(real)];
}

class ToolSearch {
  readonly tools: Tool[] = [];
  readonly notices: string[] = [];
  readonly #options: ToolOptions;
  readonly #survey: DangerSurvey;
  readonly #files: HostFiles;

  constructor(options: ToolOptions, survey: DangerSurvey, files: HostFiles) {
    this.#options = options;
    this.#survey = survey;
    this.#files = files;
  }

  /** False: nothing of it may be seen. */
  showFolder(folder: string): boolean {
    if (this.#visible(folder)) return true;
    const shown = this.#show(this.#installation(folder) ?? folder) || this.#show(folder);
    if (!shown) {
      this.notices.push(`${folder} is on your PATH and is not let in: ${this.#why(folder)}`);
      return false;
    }
    for (const extra of this.#companions(folder)) this.#show(extra);
    for (const { name, kind } of this.#files.list(folder).slice(0, maxLinksPerFolder)) {
      const real = kind === 'link' ? this.#files.realPath(joined(folder, name)) : null;
      if (real !== null) this.#showFile(real);
    }
    return true;
  }

  showProgram(program: string, path: readonly string[]): void {
    const spelled = program.includes('/')
      ? normalPath(program.startsWith('/') ? program : joined(this.#options.workingDirectory, program))
      : path.map((folder) => joined(folder, program)).find((file) => this.#files.realPath(file) !== null);
    const real = spelled === undefined || spelled === null ? null : this.#files.realPath(spelled);
    if (spelled === undefined || spelled === null || real === null) return;
    if (!this.#showFile(real)) this.notices.push(`${spelled} is not let in: ${this.#why(real)}`);
    else if (!this.#visible(spelled)) this.tools.push({ source: real, target: spelled, masks: [] });
    const interpreter = /^#!\s*(\/\S+)/.exec(this.#files.readText(real, 256) ?? '')?.[1];
    const runs = interpreter === undefined ? null : this.#files.realPath(interpreter);
    if (runs !== null) this.#showFile(runs);
  }

  #showFile(real: string): boolean {
    return this.#visible(real) || this.#show(this.#belongsTo(real)) || this.#show(real);
  }

  #show(source: string): boolean {
    if (this.#visible(source)) return true;
    if (this.#tooMuch(source)) return false;
    const judged = judgeMount(source, this.#survey, this.#files);
    if (judged.refused !== null) return false;
    this.tools.push({ source: judged.source, target: judged.source, masks: judged.masks });
    // A virtual environment borrows its interpreter from elsewhere.
    const python = this.#files.look(joined(source, 'pyvenv.cfg')) && this.#files.realPath(joined(source, 'bin/python'));
    if (typeof python === 'string') this.#showFile(python);
    return true;
  }

  #visible(path: string): boolean {
    return liesInAny(path, [...systemFolders, ...this.#options.letIn, ...this.tools.map((tool) => tool.target)]);
  }

  /** The folder of an installation that has `folder` as its bin; null: it stands alone. */
  #installation(folder: string): string | null {
    const prefix = dirname(folder);
    if (!/^s?bin$|^shims$/.test(basename(folder)) || this.#tooMuch(prefix)) return null;
    const beside = new Set(this.#files.list(prefix).map((entry) => entry.name));
    if (!besideBin.some((name) => beside.has(name))) return null;
    // A project that has a bin and a lib is no installation; version managers are clones as well, in a hidden folder.
    return beside.has('.git') && !isHidden(prefix) ? null : prefix;
  }

  /** The smallest folder that a program needs to run, by the ways in which programs are installed. */
  #belongsTo(real: string): string {
    const modules = real.indexOf('/node_modules/');
    if (modules !== -1) return real.slice(0, modules + '/node_modules'.length);
    const folder = dirname(real);
    const installation = this.#installation(folder);
    if (installation !== null) return installation;
    return isHidden(folder) && !this.#tooMuch(folder) ? folder : real;
  }

  #companions(folder: string): string[] {
    const { RUSTUP_HOME } = this.#options.environment;
    const parent = dirname(folder);
    const beside = [joined(parent, 'tools'), joined(parent, 'install/global')];
    const rustup = RUSTUP_HOME ?? joined(dirname(parent), '.rustup');
    const named: Readonly<Record<string, readonly string[]>> = {
      '.cargo': [rustup],
      '.volta': beside.slice(0, 1),
      '.bun': beside.slice(1),
    };
    return (named[basename(parent)] ?? []).flatMap((path) => this.#files.realPath(path) ?? []);
  }

  /** Folders that hold more than programs. */
  #tooMuch(folder: string): boolean {
    const { homes } = this.#survey;
    const wide = homes.flatMap((home) => sharedFolders.map((name) => joined(home, name)));
    return depthOf(folder) < 2 || wide.includes(folder) || homes.some((home) => liesIn(home, folder));
  }

  #why(path: string): string {
    const judged = judgeMount(path, this.#survey, this.#files);
    return judged.refused?.reason ?? 'it holds more than programs';
  }
}

const sharedFolders = [
  '.local',
  '.local/share',
  '.local/lib',
  '.local/state',
  '.config',
  '.cache',
  'Desktop',
  'Documents',
  'Downloads',
];

/** What lies beside the bin of an installation: libraries, a virtual environment's mark, the versions of a version manager. */
const besideBin = [
  'lib',
  'lib64',
  'libexec',
  'pyvenv.cfg',
  'conda-meta',
  'versions',
  'installs',
  'plugins',
  'candidates',
];

/** Some folder on the way is hidden: programs manage it, not people. */
function isHidden(path: string): boolean {
  return path.includes('/.');
}
