// Lays down the files that a sandbox is given: git's configuration, and the stubs that let agents start. Nothing of the user's
// goes into them but the name and address for commits.
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownPath } from '../../kit/process/own-path.ts';
import { isInPath } from '../namespace/find-tool.ts';
import type { GitConfigAccess } from '../traps/git-guards.ts';
import { agentGuides } from './agent-guides.ts';
import { type AgentStub, type AgentStubOptions, agentStubs, type GitIdentity } from './agent-stubs.ts';
import { sandboxGitEnvironment, sandboxGitFiles, wantsUrlRewriting } from './sandbox-gitconfig.ts';

export interface GitPlace {
  /** On disk, and as the sandbox sees it. */
  readonly folder: string;
  readonly inside: string;
  readonly hosts: readonly string[];
  readonly workingDirectory: string;
  /** The user's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly gitConfig: GitConfigAccess;
  readonly ignored: readonly string[];
}

/** Returns the variables that go with them. */
export function layGitFiles({
  folder,
  inside,
  hosts,
  workingDirectory,
  environment,
  gitConfig,
  ignored,
}: GitPlace): Record<string, string> {
  const options = {
    directory: inside,
    hosts,
    lfs: isInPath('git-lfs', (environment.PATH ?? '').split(':')),
    safeDirectories: [workingDirectory],
    keepsUpstreams: gitConfig === 'writable',
    ignored,
  };
  for (const { name, mode, text } of sandboxGitFiles(options)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  }
  return sandboxGitEnvironment({ ...options, rewriteUrls: wantsUrlRewriting(environment) });
}

export interface OwnStubs {
  /** What the policy wants there: it goes before what agents get. */
  readonly placed?: readonly AgentStub[];
  /** The user's settings, with what agents need to start in them. */
  readonly settings?: (stubs: readonly AgentStub[]) => readonly AgentStub[];
}

/** What is there already stays as it is. */
export function layStubs(homeFolder: string, options: AgentStubOptions, own: OwnStubs = {}): void {
  const stubs = [...agentStubs(options), ...agentGuides()];
  for (const { path, text, mode } of [...(own.placed ?? []), ...(own.settings?.(stubs) ?? []), ...stubs]) {
    const file = join(homeFolder, path);
    // In a home that was kept, an earlier sandbox may have laid a link that leads out of it.
    if (existsSync(file) || hasLink(homeFolder, path)) continue;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode, flag: 'wx' });
  }
}

/** Whether a part of the path below the home is a link, also one that leads nowhere. */
function hasLink(home: string, path: string): boolean {
  const parts = path.split('/');
  return parts.some((_, at) => {
    const stat = lstatSync(join(home, ...parts.slice(0, at + 1)), { throwIfNoEntry: false });
    return stat?.isSymbolicLink() === true;
  });
}

/** Name and address for commits, from the user's own configuration and never from the repository's. */
export function readGitIdentity(userHome: string): Promise<GitIdentity> {
  return new Promise((resolve) => {
    const options = { cwd: '/', env: { PATH: ownPath(), HOME: userHome }, timeout: 2000 };
    execFile('git', ['config', '--global', '--get-regexp', '^user\\.(name|email)$'], options, (_, stdout) => {
      const value = (key: string) => new RegExp(`^user\\.${key} (.*)$`, 'm').exec(String(stdout))?.[1] ?? null;
      resolve({ name: value('name'), email: value('email') });
    });
  });
}
