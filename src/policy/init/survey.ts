// Everything that `sallyport init` can find out before it asks: agents, credentials, remotes, package managers, what isolates a
// sandbox here. Looks and changes nothing; what it hands back holds names and places, never a value.
import type { MachineFiles } from '../load/machine-files.ts';
import { loadPresets } from '../schema/presets.ts';
import { type FoundCredential, findCredentials, findGhHosts } from './find-credentials.ts';
import { type FoundPackages, findPackages } from './find-packages.ts';
import { type FoundRepository, findRepository } from './find-remotes.ts';
import { findAgents, type KnownAgent } from './known-agents.ts';

/** A host of a remote, and what is known of it. */
export interface GitHost {
  readonly host: string;
  readonly kind: 'preset' | 'github-enterprise' | 'git';
  readonly preset: string | null;
  /** Of its https addresses, where one is not the usual. */
  readonly ports: readonly number[];
  /** gh is logged in there. */
  readonly hasGh: boolean;
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
  const repository = findRepository(folder, (path) => machine.readText(path));
  const loggedIn = new Set(hasProgram('gh') ? findGhHosts(machine) : []);
  const hosts = new Set(repository?.remotes.map(({ host }) => host));
  return {
    agents: findAgents(hasProgram),
    credentials: findCredentials(machine, hasProgram),
    repository,
    gitHosts: [...hosts].map((host) => ({ ...knowHost(host, loggedIn), ports: portsOf(host, repository) })),
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

function knowHost(host: string, loggedIn: ReadonlySet<string>): Omit<GitHost, 'ports'> {
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
