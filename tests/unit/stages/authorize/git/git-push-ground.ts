// Small histories made by hand, the pack of a push, and a git server in memory that answers from them and remembers
// what it was asked: for the judgement of pushes without a gateway, a network or git.

import type { RemoteRef } from '../../../../../src/protocols/git/fetch-v2.ts';
import { GitRemoteError } from '../../../../../src/protocols/git/git-remote-error.ts';
import { type Commit, parseCommit } from '../../../../../src/protocols/git/objects/object-commit.ts';
import { type ObjectType, oidOf } from '../../../../../src/protocols/git/objects/object-id.ts';
import type { PackObjects } from '../../../../../src/protocols/git/objects/pack-objects.ts';
import { encodePkt, flushPkt } from '../../../../../src/protocols/git/pkt-line.ts';
import type { PushCommand } from '../../../../../src/protocols/git/push-command.ts';
import { zeroId } from '../../../../../src/protocols/git/ref-name.ts';
import type { GitServer, RemoteObject } from '../../../../../src/stages/authorize/git/git-server.ts';
import { commitText, objectsOf, type Part, packOf, treeText } from '../../../protocols/git/objects/pack-builder.ts';

export { zeroId };
export type Files = Readonly<Record<string, string>>;
export const workflow = '.github/workflows/ci.yml';
const codes: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };

/** Every object that anybody has. Who has which is for the server and the packs to say. */
export class History {
  readonly objects = new Map<string, RemoteObject>();
  #count = 0;

  add(type: ObjectType, content: Buffer): string {
    const id = oidOf(type, content);
    this.objects.set(id, { type, content });
    return id;
  }

  blob(text: string): string {
    return this.add('blob', Buffer.from(text));
  }

  /** `path` to content; a content that begins with `-> ` is a link. */
  tree(files: Files): string {
    const below = new Map<string, Record<string, string>>();
    const entries: [mode: string, name: string, oid: string][] = [];
    for (const [path, content] of Object.entries(files)) {
      const slash = path.indexOf('/');
      if (slash < 0) entries.push([content.startsWith('-> ') ? '120000' : '100644', path, this.blob(content)]);
      else {
        const directory = below.get(path.slice(0, slash)) ?? {};
        directory[path.slice(slash + 1)] = content;
        below.set(path.slice(0, slash), directory);
      }
    }
    for (const [name, inside] of below) entries.push(['40000', name, this.tree(inside)]);
    const key = ([mode, name]: (typeof entries)[number]) => (mode === '40000' ? `${name}/` : name);
    return this.add('tree', treeText(entries.sort((a, b) => (key(a) < key(b) ? -1 : 1))));
  }

  commit(parents: readonly string[], files: Files = {}): string {
    return this.add('commit', commitText(this.tree(files), parents, `commit ${this.#count++}`));
  }

  tag(target: string, type: ObjectType = 'commit'): string {
    return this.add('tag', Buffer.from(`object ${target}\ntype ${type}\ntag t\ntagger a <a@b> 1 +0000\n\nm\n`));
  }

  commitAt(id: string): Commit {
    return parseCommit(this.objects.get(id)!.content);
  }

  /** All that `ids` lead to. */
  closure(ids: Iterable<string>): Set<string> {
    const seen = new Set(ids);
    for (const id of seen) for (const next of this.#links(id)) seen.add(next);
    return seen;
  }

  #links(id: string): string[] {
    const { type, content } = this.objects.get(id)!;
    if (type === 'commit') return [parseCommit(content).tree, ...parseCommit(content).parents];
    if (type === 'tree') return idsInTree(content);
    return type === 'tag' ? [content.toString('latin1', 7, 47)] : [];
  }

  partsOf(ids: Iterable<string>): Part[] {
    return [...ids].map((id) => {
      const { type, content } = this.objects.get(id)!;
      return { code: codes[type], content };
    });
  }

  /** The pack of a client that knows what the server has: what `tips` lead to beyond it. */
  pack(tips: readonly string[], server: MemoryServer): Buffer {
    return packOf(this.partsOf([...this.closure(tips)].filter((id) => !server.holds(id))));
  }

  packed(tips: readonly string[], server: MemoryServer): Promise<PackObjects> {
    return objectsOf(this.pack(tips, server));
  }
}

export class MemoryServer implements GitServer {
  /** One line for each question, in words of the test where it gave names. */
  readonly asked: string[] = [];
  readonly #history: History;
  readonly #refs = new Map<string, string>();
  readonly #held = new Set<string>();
  readonly #names = new Map<string, string>();

  constructor(history: History, refs: Readonly<Record<string, string>> = {}) {
    this.#history = history;
    for (const [name, id] of Object.entries(refs)) this.setRef(name, id);
  }

  setRef(name: string, id: string): void {
    this.#refs.set(name, id);
    this.name(id, name.replace(/^refs\/(?:heads|tags)\//, ''));
    this.hold(id);
  }

  /** Has it, though perhaps no ref leads there. */
  hold(...tips: string[]): void {
    for (const id of this.#history.closure(tips)) this.#held.add(id);
  }

  holds(id: string): boolean {
    return this.#held.has(id);
  }

  name(id: string, name: string): string {
    this.#names.set(id, name);
    return id;
  }

  async refs(prefixes: readonly string[]): Promise<readonly RemoteRef[]> {
    this.asked.push(`refs ${prefixes.join(' ')}`);
    return [...this.#refs]
      .filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)))
      .map(([name, id]) => ({ name, id, peeled: this.#peeled(id), symrefTarget: null }));
  }

  async commits(wants: readonly string[], haves: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
    this.asked.push(`commits ${this.#say(wants)} not ${this.#say(haves)}`);
    this.#demand(wants);
    const known = this.#history.closure(haves.filter((id) => this.#held.has(id)));
    const found = [...this.#history.closure(wants)].filter((id) => this.#typeOf(id) === 'commit' && !known.has(id));
    return new Map(found.map((id) => [id, this.#history.commitAt(id)]));
  }

  async known(tip: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    this.asked.push(`known ${this.#say(ids)}`);
    this.#demand([tip]);
    return new Set(ids.filter((id) => this.#held.has(id)));
  }

  async objects(ids: readonly string[]): Promise<ReadonlyMap<string, RemoteObject>> {
    this.asked.push(`objects ${ids.map((id) => this.#names.get(id) ?? this.#typeOf(id)).join(' ')}`);
    this.#demand(ids);
    return new Map(ids.map((id) => [id, this.#history.objects.get(id)!]));
  }

  #typeOf(id: string): ObjectType | undefined {
    return this.#history.objects.get(id)?.type;
  }

  #peeled(id: string): string | null {
    if (this.#typeOf(id) !== 'tag') return null;
    let target = id;
    while (this.#typeOf(target) === 'tag')
      target = this.#history.objects.get(target)!.content.toString('latin1', 7, 47);
    return target;
  }

  #demand(ids: readonly string[]): void {
    if (!ids.every((id) => this.#held.has(id))) throw new GitRemoteError(Buffer.from('upload-pack: not our ref'));
  }

  #say(ids: readonly string[]): string {
    return ids.map((id) => this.#names.get(id) ?? id.slice(0, 8)).join(' ') || 'nothing';
  }
}

export function command(ref: string, newId: string, oldId = zeroId): PushCommand {
  return { oldId, newId, ref };
}

/** The command section of a push, with its flush. */
export function commandLines(commands: readonly PushCommand[], capabilities = 'report-status side-band-64k'): Buffer {
  const lines = commands.map(({ oldId, newId, ref }, i) =>
    encodePkt(`${oldId} ${newId} ${ref}${i === 0 ? `\0 ${capabilities}` : ''}`),
  );
  return Buffer.concat([...lines, flushPkt]);
}

/** Behind the NUL of each entry. */
function idsInTree(content: Buffer): string[] {
  const ids: string[] = [];
  for (let at = 0; at < content.length; ) {
    const id = content.indexOf(0, at) + 1;
    at = id + 20;
    ids.push(content.toString('hex', id, at));
  }
  return ids;
}
