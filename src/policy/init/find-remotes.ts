// Where the repository around a folder is pushed to, read out of its configuration file as text: git is not started, since what a
// repository configures can run programs. Of an address only host and path are kept: a login in it goes nowhere.
import { dirname, join, resolve } from 'node:path';
import { canonicalRepository } from '../../kit/text/repository-name.ts';
import { parseHostName } from '../host-pattern.ts';
import type { MachineFiles } from '../load/machine-files.ts';

export interface Remote {
  readonly name: string;
  readonly host: string;
  /** Of an https address that names one. Null: the usual one; a port of ssh says nothing about https. */
  readonly port: number | null;
  /** `owner/name`; null: it lies deeper, or is no such name. */
  readonly repository: string | null;
}

export interface FoundRepository {
  /** The folder with `.git` in it. */
  readonly folder: string;
  /** The files that say what its remotes are: whoever can write one of them can say it. */
  readonly saidBy: readonly string[];
  /** `origin` first. */
  readonly remotes: readonly Remote[];
  readonly unread: readonly UnreadRemote[];
}

/** Nothing of its address is kept: a login may stand in it. */
export interface UnreadRemote {
  /** Null: all of them. */
  readonly name: string | null;
  readonly reason: string;
}

type Looked = Pick<MachineFiles, 'readText' | 'listDirectory'>;

/** Null: the folder lies in no repository. */
export function findRepository(folder: string, machine: Looked): FoundRepository | null {
  const config = configOf(folder, machine.readText);
  if (config !== null) {
    const { remotes, unread } = remotesIn(config.text);
    const sorted = remotes.sort((a, b) => Number(b.name === 'origin') - Number(a.name === 'origin'));
    return { folder, saidBy: config.saidBy, remotes: sorted, unread };
  }
  // As git does: what is broken here is not looked for above.
  if (machine.listDirectory(folder).includes('.git')) {
    const unread = [{ name: null, reason: 'the configuration of this repository cannot be read' }];
    return { folder, saidBy: [join(folder, '.git', 'config')], remotes: [], unread };
  }
  const above = dirname(folder);
  return above === folder ? null : findRepository(above, machine);
}

/** `.git` is a folder; of a worktree or a submodule it is a file that says where the folder is. */
function configOf(folder: string, readText: Looked['readText']): { text: string; saidBy: readonly string[] } | null {
  const saidBy = [join(folder, '.git', 'config')];
  const plain = readText(saidBy[0]!);
  if (plain !== null) return { text: plain, saidBy };
  const pointer = /^gitdir: (.+)$/m.exec(readText(join(folder, '.git')) ?? '')?.[1];
  if (pointer === undefined) return null;
  const own = resolve(folder, pointer.trim());
  const common = readText(join(own, 'commondir'));
  const elsewhere = join(common === null ? own : resolve(own, common.trim()), 'config');
  const text = readText(elsewhere);
  return text === null ? null : { text, saidBy: [join(folder, '.git'), join(own, 'commondir'), elsewhere] };
}

/** The first address of each remote, as far as it is one of another machine. */
export function remotesIn(config: string): { remotes: Remote[]; unread: UnreadRemote[] } {
  const found = new Map<string, Remote | UnreadRemote>();
  let section: string | null = null;
  for (const line of config.split(/\r?\n/)) {
    const header = /^\s*\[\s*([^\s\]"]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(line);
    if (header !== null) {
      section = header[1]!.toLowerCase() === 'remote' ? (header[2]?.replace(/\\(.)/g, '$1') ?? null) : null;
      continue;
    }
    const url = section === null ? null : /^\s*url\s*=\s*(.*)$/i.exec(line);
    if (url === null || section === null || found.has(section)) continue;
    const remote = readAddress(
      url[1]!
        .replace(/\s[#;].*$/, '')
        .replaceAll('"', '')
        .trim(),
    );
    found.set(section, { name: section, ...remote });
  }
  const all = [...found.values()];
  return {
    remotes: all.filter((one) => 'host' in one),
    unread: all.filter((one) => 'reason' in one),
  };
}

/** `https://host/path`, `ssh://git@host:22/path`, `git@host:path`; otherwise why it is no host to allow. */
function readAddress(address: string): Omit<Remote, 'name'> | Omit<UnreadRemote, 'name'> {
  const url = /^(?:https?|ssh|git|git\+ssh):\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/(.*)$/i.exec(address);
  const port = Number(/^https:\/\/(?:[^/@]*@)?[^/:]+:(\d+)\//i.exec(address)?.[1] ?? 443);
  if (port < 1 || port > 65_535) return { reason: 'its port does not exist' };
  // The short form of ssh: no slash before the colon, or it is a path on this machine.
  const short = url === null ? /^(?:[^/@:]+@)?([^/@:]+):(?!\/\/)(.*)$/.exec(address) : null;
  const [, host = '', path = ''] = url ?? short ?? [];
  const parsed = parseHostName(host.toLowerCase());
  if (host === '') return { reason: 'it is a folder of this machine, or a form of address that is not known here' };
  if ('problem' in parsed) return { reason: 'its host is not a name' };
  // It is of ssh's own configuration, or of this machine.
  if (!parsed.value.includes('.')) return { reason: 'its host is a name without a dot, which only this machine knows' };
  const [owner = '', name = '', ...deeper] = path.replace(/^\/+|\/+$/g, '').split('/');
  // What GitHub is called for ssh where port 22 is shut.
  const known = parsed.value === 'ssh.github.com' ? 'github.com' : parsed.value;
  return {
    host: known,
    port: port === 443 ? null : port,
    repository: deeper.length > 0 ? null : canonicalRepository(owner, name),
  };
}
