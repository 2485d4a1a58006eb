// The workplace of a sandbox: a folder with clones, in which real git reaches the world through the door alone, with the
// sandbox's own environment and no login of any kind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientEnvironment } from './client-environment.ts';
import { GitFolder, quietGit } from './git-folder.ts';
import type { ClientRun } from './run-client.ts';

export interface GitSandbox {
  /** Not a repository: for `clone`, `ls-remote` and the like. */
  readonly home: GitFolder;
  /** Clones through the door. */
  clone(url: string, ...options: string[]): Promise<GitFolder>;
  /** An empty repository that knows `url` as its origin. */
  init(url: string): Promise<GitFolder>;
  remove(): void;
}

export function openGitSandbox(door: { readonly proxyUrl: string; readonly caPath: string }): GitSandbox {
  const folder = mkdtempSync(join(tmpdir(), 'git-sandbox-'));
  const home = new GitFolder(folder, { ...clientEnvironment(door), ...quietGit, HOME: folder });
  let made = 0;
  return {
    home,
    async clone(url, ...options) {
      const name = `clone-${++made}`;
      await home.git('clone', '--quiet', ...options, url, name);
      return home.below(name);
    },
    async init(url) {
      const name = `new-${++made}`;
      await home.git('init', '--quiet', '--initial-branch=main', name);
      const folder = home.below(name);
      await folder.git('remote', 'add', 'origin', url);
      return folder;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The lines that git prints after `remote:`, joined by line feeds. */
export function remoteWords(run: ClientRun): string {
  return [...run.stderr.matchAll(/^remote: (.*?) *$/gm)].map((match) => match[1]).join('\n');
}

/** What git says it could not push: `! [remote rejected] a -> b (why)` by b. */
export function rejected(run: ClientRun): Record<string, string> {
  const lines = run.stderr.matchAll(/^ ! \[remote rejected\] +(?:\S+ -> )?(\S+) \((.*)\)$/gm);
  return Object.fromEntries([...lines].map((match) => [match[1]!, match[2]!]));
}
