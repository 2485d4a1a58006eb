// Everything that `sallyport init` can find out before it asks: agents, credentials, remotes, package managers, what isolates a
// sandbox here. Looks and changes nothing; what it hands back holds names and places, never a value.
import type { MachineFiles } from '../load/machine-files.ts';
import { loadPresets } from '../schema/presets.ts';
import { type FoundCredential, findCredentials, findGhHosts } from './find-credentials.ts';
import { type FoundRepository, findRepository } from './find-remotes.ts';

/** A host of a remote, and what is known of it. */
export interface GitHost {
  readonly host: string;
  readonly kind: 'preset' | 'github-enterprise' | 'git';
  readonly preset: string | null;
  /** Of its https addresses, where one is not the usual. */
  readonly ports: readonly number[];
  /** gh is logged in there. */
  readonly hasGh: boolean;
  /** The remote called `origin` is there. */
  readonly isOrigin: boolean;
}

export interface ProjectSurvey {
  readonly agents: readonly KnownAgent[];
  readonly credentials: readonly FoundCredential[];
  readonly repository: FoundRepository | null;
  readonly gitHosts: readonly GitHost[];
  readonly packages: readonly FoundPackages[];
  /** What a sandbox can be made with. */
  readonly launchers: { readonly bubblewrap: boolean; readonly docker: boolean };
}

export interface SurveyOptions {
  readonly machine: Pick<MachineFiles, 'env' | 'home' | 'readText' | 'listDirectory'>;
  readonly folder: string;
  /** Whether the user's PATH has this program. */
  hasProgram(program: string): boolean;
  readonly launchers: ProjectSurvey['launchers'];
}

export function surveyProject({ machine, folder, hasProgram, launchers }: SurveyOptions): ProjectSurvey {
  const repository = findRepository(folder, machine);
  const loggedIn = new Set(hasProgram('gh') ? findGhHosts(machine) : []);
  const hosts = new Set(repository?.remotes.map(({ host }) => host));
  return {
    agents: findAgents(hasProgram),
    credentials: findCredentials(machine, hasProgram),
    repository,
    gitHosts: [...hosts].map((host) => ({
      ...knowHost(host, loggedIn),
      ports: portsOf(host, repository),
      isOrigin: repository?.remotes.some((remote) => remote.name === 'origin' && remote.host === host) === true,
    })),
    packages: findPackages([folder, ...(repository === null ? [] : [repository.folder])], (path) =>
      machine.listDirectory(path),
    ),
    launchers,
  };
}

function portsOf(host: string, repository: FoundRepository | null): number[] {
  const ports = new Set(repository?.remotes.filter((remote) => remote.host === host).map(({ port }) => port ?? 443));
  return ports.size === 1 && ports.has(443) ? [] : [...ports].sort((a, b) => a - b);
}

function knowHost(host: string, loggedIn: ReadonlySet<string>): Omit<GitHost, 'ports' | 'isOrigin'> {
  const hasGh = loggedIn.has(host);
  const preset = host === 'github.com' ? 'github' : presetOfGitHost(host);
  if (preset !== null) return { host, kind: 'preset', preset, hasGh };
  const isGithub = hasGh || host.endsWith('.ghe.com') || /^(?:github|ghe)\./.test(host);
  return { host, kind: isGithub ? 'github-enterprise' : 'git', preset: null, hasGh };
}

function presetOfGitHost(host: string): string | null {
  for (const preset of loadPresets().presets.values()) if (preset.gitHosts.includes(host)) return preset.name;
  return null;
}

// Which package managers a project uses, by the files that each of them cannot do without. Only names of files are looked at:
// which registries are used is for the machine's own configuration to say, never for a project's.
const signs: readonly (readonly [preset: string, files: RegExp])[] = [
  ['npm', /^(?:package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.jsonc?)$/],
  ['pypi', /^(?:pyproject\.toml|requirements[\w.-]*\.(?:txt|in)|setup\.(?:py|cfg)|Pipfile|poetry\.lock|uv\.lock)$/],
  ['golang', /^(?:go\.mod|go\.work)$/],
  ['crates', /^Cargo\.(?:toml|lock)$/],
  ['rubygems', /^(?:Gemfile|Gemfile\.lock|gems\.rb|[\w.-]+\.gemspec)$/],
  ['maven', /^(?:pom\.xml|build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?)$/],
  ['packagist', /^composer\.(?:json|lock)$/],
];

interface FoundPackages {
  readonly preset: string;
  /** The file that says so. */
  readonly file: string;
}

/** `folders`: where the user stands, and the top of the repository. */
export function findPackages(
  folders: readonly string[],
  listDirectory: (path: string) => readonly string[],
): readonly FoundPackages[] {
  const names = [...new Set(folders)].flatMap((folder) => listDirectory(folder));
  return signs.flatMap(([preset, files]) => {
    const file = names.find((name) => files.test(name));
    return file === undefined ? [] : [{ preset, file }];
  });
}

// The agents that people run in sandboxes, and which presets each of them cannot do without. Found by their program's name on
// PATH; nothing of them is started or read here.
interface KnownAgent {
  /** What is typed to start it. */
  readonly program: string;
  /** Empty: it speaks with whichever provider its user has a credential of. */
  readonly presets: readonly string[];
}

/** In the order in which one is proposed when several are there. */
const knownAgents: readonly KnownAgent[] = [
  { program: 'claude', presets: ['anthropic'] },
  { program: 'codex', presets: ['openai'] },
  { program: 'gemini', presets: ['google'] },
  { program: 'opencode', presets: [] },
  { program: 'aider', presets: [] },
  { program: 'goose', presets: [] },
  { program: 'crush', presets: [] },
];

/** Those whose program one of the folders of PATH has. */
function findAgents(isThere: (program: string) => boolean): readonly KnownAgent[] {
  return knownAgents.filter(({ program }) => isThere(program));
}
