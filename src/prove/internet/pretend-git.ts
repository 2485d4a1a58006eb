// Git repositories of a pretend internet: real bare repositories in a folder, served by the real `git http-backend`. For proofs
// and demonstrations on loopback only: it does what it is asked.
import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startBackend } from './git-backend.ts';
import type { PretendRequest, PretendResponse } from './pretend-world.ts';

const run = promisify(execFile);

/** Nothing of the user's own configuration, and a name for the commits. */
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

export interface PretendGit {
  /** Makes `owner/name` with these branches: by their name, the files of their one commit on top of `main`. */
  create(repository: string, branches: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<void>;
  serve(request: PretendRequest, response: PretendResponse): void;
  /** Every ref of every repository, as `repository ref id` lines. */
  refs(): Promise<string>;
}

export function createPretendGit(folder: string): PretendGit {
  const repositories: string[] = [];
  const placeOf = (repository: string): string => join(folder, `${repository}.git`);
  return {
    async create(repository, branches) {
      const cwd = placeOf(repository);
      await mkdir(cwd, { recursive: true });
      const git = (...args: string[]) => run('git', args, { cwd, env: environment });
      await git('init', '--quiet', '--bare', '--initial-branch=main', '.');
      for (const key of ['http.receivepack', 'uploadpack.allowFilter', 'uploadpack.allowAnySHA1InWant']) {
        await git('config', key, 'true');
      }
      await importHistory(cwd, branches);
      repositories.push(repository);
    },
    serve: (request, response) => serveGit(folder, request, response),
    async refs() {
      const lines: string[] = [];
      for (const repository of repositories) {
        const format = `--format=${repository} %(refname) %(objectname)`;
        const { stdout } = await run('git', ['for-each-ref', format], { cwd: placeOf(repository), env: environment });
        lines.push(...stdout.split('\n').filter((line) => line !== ''));
      }
      return lines.join('\n');
    },
  };
}

/** One commit for each branch, the first of them the parent of the others. */
function importHistory(
  cwd: string,
  branches: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<void> {
  const [first] = Object.keys(branches);
  let script = '';
  for (const [branch, files] of Object.entries(branches)) {
    script += `commit refs/heads/${branch}\ncommitter A U Thor <author@example.com> 1750000000 +0000\n${data(branch)}`;
    if (branch !== first) script += `from refs/heads/${first}\n`;
    for (const [path, text] of Object.entries(files)) script += `M 100644 inline ${path}\n${data(text)}`;
    script += '\n';
  }
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['fast-import', '--quiet'], {
      cwd,
      env: environment,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`git fast-import ended with ${code}`))));
    child.stdin.end(script);
  });
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function serveGit(folder: string, request: PretendRequest, response: PretendResponse): void {
  const [path = ''] = request.url.split('?');
  startBackend(request, response, {
    root: folder,
    path: path.replace(/^(\/[^/]+\/[^/]+?)(?:\.git)?(?=\/)/, '$1.git'),
    env: environment,
  });
}
