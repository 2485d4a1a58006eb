// The blocklist applied to this host: which of its places exist here, where they really are once every link is followed,
// and what they are. Looks once for each sandbox, so that a login made a minute ago is known.
import { looksLikeCredential } from '../stubs/credential-variables.ts';
import { type DangerRule, dangerousPlaces, dangerousThings } from './dangerous-paths.ts';
import type { FileKind, HostFiles } from './host-files.ts';
import { joined, liesIn, normalPath } from './path-relations.ts';

export interface Danger {
  readonly rule: string;
  /** As the blocklist spells it, for the user. */
  readonly path: string;
  /** Where it really is. */
  readonly real: string;
  readonly kind: FileKind;
  readonly identity: string;
  /** A whole part of the host: refused, never masked. */
  readonly place: boolean;
  /** Harmless places inside it. */
  readonly except: readonly string[];
}

export interface HostFacts {
  readonly home: string;
  readonly uid: number;
  readonly stateFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Named by the configuration: files that credentials come from. */
  readonly hide: readonly string[];
}

export interface DangerSurvey {
  readonly dangers: readonly Danger[];
  /** The user's home and those of the other people on this host, where they really are. */
  readonly homes: readonly string[];
}

/** Folders so wide that a variable which names one cannot mean that all of it is dangerous. */
const wide = new Set(['/', '/tmp', '/var', '/var/tmp', '/home', '/opt', '/srv', '/mnt', '/media', '/usr', '/etc']);

export function surveyDangers(facts: HostFacts, files: HostFiles): DangerSurvey {
  const others = peopleOf(files).filter(({ uid }) => uid !== facts.uid);
  const own = peopleOf(files).filter(({ uid }) => uid === facts.uid);
  const spelled = unique([facts.home, ...own.map(({ home }) => home), ...others.map(({ home }) => home)]);
  const homes = unique(spelled.map((home) => files.realPath(home) ?? home));
  const found: Danger[] = [];
  const list = remembered((folder) => files.list(folder));
  const add = (rule: DangerRule, path: string, place: boolean, except: readonly string[]) => {
    const danger = look(rule.rule, path, place, except, files);
    if (danger !== null) found.push(danger);
  };

  for (const rule of dangerousPlaces) for (const path of rule.paths) add(rule, path, true, []);
  for (const rule of dangerousThings) {
    const except = (rule.except ?? []).flatMap((path) => spelled.map((home) => path.replace('~', home)));
    for (const path of rule.paths) {
      const concrete = path.startsWith('$')
        ? namedBy(facts.environment[path.slice(1)]).filter((named) => !tooWide(named, homes, files))
        : withHomes(path, spelled, facts);
      for (const one of concrete.flatMap((pattern) => expand(pattern, list))) add(rule, one, false, except);
    }
  }
  const extra = [
    ...[facts.stateFolder].map((path) => ({ path, rule: 'the state and configuration of Sallyport' })),
    ...facts.hide.map((path) => ({ path, rule: 'a credential that the configuration names' })),
    ...credentialFiles(facts.environment).map((path) => ({ path, rule: 'a credential that a variable names' })),
    // The home of root, unless it is root who runs this.
    ...others.filter(({ uid }) => uid === 0).map(({ home }) => ({ path: home, rule: 'the home of root' })),
  ];
  for (const { path, rule } of extra) if (!wide.has(path)) add({ rule, paths: [] }, path, false, []);
  return { dangers: found, homes };
}

function look(rule: string, path: string, place: boolean, except: readonly string[], files: HostFiles): Danger | null {
  const real = files.realPath(path);
  const facts = real === null ? null : files.look(real);
  if (real === null || facts === null) return null;
  return { rule, path, real, kind: facts.kind, identity: facts.identity, place, except };
}

function withHomes(path: string, homes: readonly string[], facts: HostFacts): string[] {
  if (!path.startsWith('~/')) return [path];
  const below = path.slice(2);
  const found = homes.map((home) => joined(home, below));
  // The same things where the user has moved them by the XDG variables.
  for (const [prefix, variable] of xdgFolders) {
    const moved = normalPath(facts.environment[variable] ?? '');
    if (moved !== null && below.startsWith(prefix)) found.push(joined(moved, below.slice(prefix.length)));
  }
  return found;
}

const xdgFolders = [
  ['.config/', 'XDG_CONFIG_HOME'],
  ['.local/share/', 'XDG_DATA_HOME'],
  ['.local/state/', 'XDG_STATE_HOME'],
  ['.cache/', 'XDG_CACHE_HOME'],
] as const;

/** Absolute paths in the value of a variable: a path, a list of them, or an address such as `unix:///run/docker.sock`. */
function namedBy(value: string | undefined): string[] {
  return (value ?? '').split(/[:;,=]/).flatMap((part) => {
    const path = part.startsWith('/') ? normalPath(part.replace(/^\/+/, '/')) : null;
    return path === null || path === '/' ? [] : [path];
  });
}

/** A variable such as ANTHROPIC_API_KEY_FILE names the file in place of the value. */
function credentialFiles(environment: HostFacts['environment']): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    const path = value === undefined || !looksLikeCredential(name) ? null : normalPath(value);
    return path === null ? [] : [path];
  });
}

function tooWide(path: string, homes: readonly string[], files: HostFiles): boolean {
  const real = files.realPath(path) ?? path;
  return wide.has(real) || homes.some((home) => liesIn(home, real));
}

/** `*` in a name stands for anything, as in a shell, and for a leading dot only when the pattern has one. */
function expand(pattern: string, list: HostFiles['list']): string[] {
  if (!pattern.includes('*')) return [pattern];
  let found = ['/'];
  for (const name of pattern.slice(1).split('/')) {
    if (!name.includes('*')) {
      found = found.map((folder) => joined(folder, name));
      continue;
    }
    const matches = new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`);
    found = found.flatMap((folder) =>
      list(folder)
        .filter((entry) => matches.test(entry.name) && (name.startsWith('.') || !entry.name.startsWith('.')))
        .map((entry) => joined(folder, entry.name)),
    );
  }
  return found;
}

/** People have homes; services have folders that only happen to be called so. */
function peopleOf(files: HostFiles): { readonly uid: number; readonly home: string }[] {
  const text = files.readText('/etc/passwd', 256 * 1024) ?? '';
  return text.split('\n').flatMap((line) => {
    const fields = line.split(':');
    const uid = Number(fields[2]);
    const home = normalPath(fields[5] ?? '');
    const person = uid === 0 || (uid >= 1000 && uid < 65000);
    return home === null || fields.length < 7 || !person || wide.has(home) ? [] : [{ uid, home }];
  });
}

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}

/** Many patterns look into the same folder. */
function remembered(list: HostFiles['list']): HostFiles['list'] {
  const known = new Map<string, ReturnType<HostFiles['list']>>();
  return (folder) => {
    const entries = known.get(folder) ?? list(folder);
    known.set(folder, entries);
    return entries;
  };
}
