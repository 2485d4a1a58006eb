// Small histories made by chance, all in one repository of real git; for each a server that has a part of it, and a push
// that a client with another part would make. The server's answers come from git itself.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RemoteRef } from '../../src/protocols/git/fetch-v2.ts';
import { GitRemoteError } from '../../src/protocols/git/git-remote-error.ts';
import { type Commit, parseCommit } from '../../src/protocols/git/objects/object-commit.ts';
import type { ObjectType } from '../../src/protocols/git/objects/object-id.ts';
import type { GitServer } from '../../src/stages/authorize/git/git-server.ts';
import type { Chance, GitRepository } from './git-pack-ground.ts';

const paths = [
  '.github/workflows/ci.yml',
  '.github/workflows/deep/er.yml',
  '.github/workflows',
  '.github/Workflows/x.yml',
  '.github/CODEOWNERS',
  'src/.github/workflows/ci.yml',
  'src/a.ts',
  'src/b.ts',
  'README',
];
/** How each new commit finds its parents: in line, with many merges, bushy, or with new roots. */
const shapes = [
  { merges: 5, roots: 0, near: 2 },
  { merges: 60, roots: 5, near: 4 },
  { merges: 30, roots: 10, near: 14 },
  { merges: 10, roots: 30, near: 6 },
] as const;

/** Draws `count` histories into the repository; returns the commits of each, parents first. */
export function drawHistories(repository: GitRepository, chance: Chance, count: number, seed: number): string[][] {
  const stream: string[] = [];
  const spans: [first: number, end: number][] = [];
  let mark = 1;
  for (let h = 0; h < count; h++) {
    const first = mark;
    const shape = chance.one(shapes);
    // In some nobody ever touches what is protected: those pushes must pass.
    const quiet = chance.below(4) === 0;
    for (let n = 0, size = 3 + chance.below(12); n < size; n++, mark++) {
      const message = `${seed} ${mark}`;
      stream.push(`commit refs/all/${mark}`, `mark :${mark}`, 'committer a <a@b> 1700000000 +0000');
      stream.push(`data ${message.length}`, message);
      const wanted = n === 0 || chance.below(100) < shape.roots ? 0 : chance.below(100) < shape.merges ? 2 : 1;
      const parents = new Set<number>();
      for (let k = 0; k < wanted + chance.below(wanted); k++) {
        parents.add(mark - 1 - chance.below(Math.min(n, shape.near)));
      }
      [...parents].forEach((parent, place) => {
        stream.push(`${place === 0 ? 'from' : 'merge'} :${parent}`);
      });
      stream.push(...changes(chance, quiet, mark));
    }
    spans.push([first, mark]);
  }
  repository.git(['fast-import', '--quiet', '--export-marks=marks'], `${stream.join('\n')}\n`);
  const ids = new Map<number, string>();
  for (const line of readFileSync(join(repository.directory, 'marks'), 'utf8').trim().split('\n')) {
    const [name = '', id = ''] = line.split(' ');
    ids.set(Number(name.slice(1)), id);
  }
  return spans.map(([first, end]) => Array.from({ length: end - first }, (_, n) => ids.get(first + n) as string));
}

function changes(chance: Chance, quiet: boolean, mark: number): string[] {
  // Long enough, and changed little enough, to be sent as a delta.
  const long = Array.from({ length: 40 }, (_, n) => `line ${n} ${n === mark % 40 ? mark : ''}`).join('\n');
  const lines = [`M 100644 inline src/long`, `data ${long.length}`, long];
  for (let left = chance.below(4); left > 0; left--) {
    const path = chance.one(quiet ? paths.slice(4) : paths);
    const content = `content ${chance.below(3)}`;
    const mode = chance.one(['100644', '100644', '100644', '100755', '120000']);
    if (chance.below(5) === 0) lines.push(`D ${path}`);
    else lines.push(`M ${mode} inline ${path}`, `data ${content.length}`, content);
  }
  return [...lines, ''];
}

/** A server that holds what `refs` and `stray` lead to; what it says is what git says. */
export class GitBackedServer implements GitServer {
  readonly asked: string[] = [];
  readonly held: ReadonlySet<string>;
  readonly #repository: GitRepository;
  readonly #refs: ReadonlyMap<string, string>;

  constructor(repository: GitRepository, refs: ReadonlyMap<string, string>, stray: readonly string[]) {
    this.#repository = repository;
    this.#refs = refs;
    const tips = [...refs.values(), ...stray];
    const lines =
      tips.length === 0 ? [] : repository.lines(['rev-list', '--objects', '--stdin'], `${tips.join('\n')}\n`);
    this.held = new Set(lines.map((line) => line.slice(0, 40)));
  }

  async refs(prefixes: readonly string[]): Promise<readonly RemoteRef[]> {
    this.asked.push('refs');
    return [...this.#refs]
      .filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)))
      .map(([name, id]) => ({ name, id, peeled: null, symrefTarget: null }));
  }

  async commits(wants: readonly string[], haves: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
    this.asked.push('commits');
    this.#demand(wants);
    const not = haves.filter((id) => this.held.has(id)).map((id) => `^${id}`);
    const lines = this.#repository.lines(
      ['rev-list', '--stdin', '--format=%H %T %P'],
      `${[...wants, ...not].join('\n')}\n`,
    );
    return new Map(
      lines
        .filter((line) => !line.startsWith('commit '))
        .map((line) => {
          const [id = '', tree = '', ...parents] = line.trim().split(' ');
          return [id, { tree, parents }];
        }),
    );
  }

  async known(tip: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    this.asked.push('known');
    this.#demand([tip]);
    return new Set(ids.filter((id) => this.held.has(id)));
  }

  async objects(ids: readonly string[]) {
    this.asked.push('objects');
    this.#demand(ids);
    const bytes = this.#repository.git(['cat-file', '--batch'], `${ids.join('\n')}\n`);
    const found = new Map<string, { type: ObjectType; content: Buffer }>();
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(10, at);
      const [id = '', type = '', size = ''] = bytes.toString('latin1', at, end).split(' ');
      const content = bytes.subarray(end + 1, end + 1 + Number(size));
      found.set(id, { type: type as ObjectType, content });
      if (type === 'commit') parseCommit(content);
      at = end + 2 + Number(size);
    }
    return found;
  }

  #demand(ids: readonly string[]): void {
    if (!ids.every((id) => this.held.has(id))) throw new GitRemoteError(Buffer.from('upload-pack: not our ref'));
  }
}
