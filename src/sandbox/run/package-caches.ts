// What package managers keep of what they have fetched, for a sandbox: a folder that belongs to this project alone, or a copy of the
// user's that is gone with the sandbox. Nothing that a sandbox writes is ever another project's or the host's. // Guards: threats.md T120
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BoundFile } from '../files/plan-mounts.ts';
import { projectName } from './project-home.ts';
import { LaunchError } from './sandbox-plan.ts';

export const cacheNames = ['npm', 'pip', 'cargo', 'go'] as const;
export const cacheKinds = ['read-only', 'project', 'none'] as const;
export type CacheName = (typeof cacheNames)[number];
export type CacheKind = (typeof cacheKinds)[number];

export interface AskedCache {
  readonly name: CacheName;
  readonly kind: CacheKind;
}

/** Where each lies below a home, by itself. Settings and logins lie beside them, and stay out. */
const folders: Readonly<Record<CacheName, readonly string[]>> = {
  npm: ['.npm/_cacache'],
  pip: ['.cache/pip'],
  cargo: ['.cargo/registry', '.cargo/git/db'],
  go: ['go/pkg/mod', '.cache/go-build'],
};

/** What a copy may hold: beyond that a start would take long. */
const mostBlocks = 4 * 1024 ** 2;

/** `NAME=KIND`; of two for one name the last counts. */
export function parseCaches(texts: readonly string[]): AskedCache[] {
  const asked = new Map<CacheName, CacheKind>();
  for (const text of texts) {
    const [name, kind, more] = text.split('=');
    const known = cacheNames.find((one) => one === name);
    const way = cacheKinds.find((one) => one === kind);
    if (known === undefined || way === undefined || more !== undefined)
      throw new LaunchError(
        `--cache ${JSON.stringify(text)} is not NAME=KIND`,
        `NAME is one of ${cacheNames.join(', ')}; KIND is one of ${cacheKinds.join(', ')}.`,
      );
    asked.set(known, way);
  }
  return [...asked].map(([name, kind]) => ({ name, kind }));
}

export interface CachePlace {
  readonly userHome: string;
  /** Where the caches of projects are kept. */
  readonly kept: string;
  /** Of this sandbox, gone with it. */
  readonly ownFolder: string;
  readonly workingDirectory: string;
}

export interface LaidCaches {
  /** The target is below the home. */
  readonly folders: readonly BoundFile[];
  readonly notices: readonly string[];
}

export async function layCaches(asked: readonly AskedCache[], place: CachePlace): Promise<LaidCaches> {
  const laid: BoundFile[] = [];
  const notices: string[] = [];
  for (const { name, kind } of asked) {
    if (kind === 'none') continue;
    for (const target of folders[name]) {
      const source =
        kind === 'project'
          ? join(place.kept, projectName(place.workingDirectory), target)
          : join(place.ownFolder, target);
      mkdirSync(source, { recursive: true, mode: 0o700 });
      const why = kind === 'project' ? null : await copyInto(join(place.userHome, target), source);
      if (why !== null) notices.push(`--cache ${name}=read-only: ~/${target} was not copied: ${why}`);
      laid.push({ source, target });
    }
  }
  return { folders: laid, notices };
}

/** Null: done, or there was nothing. A copy, because all of these programs write where they read; blocks are shared where the file
 *  system can. Links stay links, and lead to nothing inside. */
async function copyInto(from: string, to: string): Promise<string | null> {
  if (!existsSync(from)) return null;
  if (!lstatSync(from).isDirectory()) return 'it is not a folder';
  const run = promisify(execFile);
  try {
    const { stdout } = await run('du', ['-sk', '--', from]);
    if (Number.parseInt(stdout, 10) > mostBlocks / 2)
      return 'it is larger than 2 GiB; --cache NAME=project keeps one for the project';
    await run('cp', ['-R', '-P', '--reflink=auto', '--', `${from}/.`, to]);
    return null;
  } catch {
    return 'it cannot be read';
  }
}
