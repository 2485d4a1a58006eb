// Removes the state directory, after checking that it is one of ours. Removes by name what a gateway makes there; everything
// else in it is reported and stays.
import { lstatSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { type Places, placesIn } from '../../kit/files/home.ts';
import { checkPrivateDirectory } from '../../kit/files/secure-directory.ts';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { codeOf, type Found, type KeptItem, type Removable, UninstallRefused } from './uninstall-item.ts';
import { OpenFolder } from './uninstall-tree.ts';

/** What a gateway and `sallyport run` make in it, and what is lost with it. */
const meanings: Readonly<Record<string, string>> = {
  ca: "the CA and its key: sandboxes that trust it will need another gateway's",
  'identity-ca': 'the identity CA and its key: the certificates of sandboxes stop working',
  'registry.json': 'the registrations of sandboxes',
  'gateway-name': 'the name by which other gateways of its store knew this one',
  journal: 'the journal of all requests',
  spool: 'pushes that waited to be judged',
  run: 'sockets',
  'run.log': 'the log of gateways that `sallyport run` started',
  'run.log.1': 'what was in it before',
  sandboxes: 'what sandboxes were given',
  running: 'notes and sockets of sandboxes that run',
  home: 'the home that sandboxes with `--home persist` shared, with all that they left in it',
  homes: 'the homes that `--home persist` kept, one for each project, with all that sandboxes left in them',
  gateways: 'state and journals of gateways that ran beside the first',
  runs: 'journals of gateways that `sallyport run` of version 0.1 started',
  written: 'notes of where sandboxes could write',
  learned: 'lines that sessions with --learn proposed',
  caches: 'caches of package managers that `--cache NAME=project` kept, one folder for each project',
  cache: 'links that are made again when they are missing',
};

export interface StateOptions {
  readonly places: Places;
  /** The user's own. */
  readonly userHome: string;
  readonly keepJournal: boolean;
}

/** Changes nothing. Throws when the place must not be touched. */
export function findState({ places, userHome, keepJournal }: StateOptions): Found {
  const { home } = places;
  if (lstatSync(home, { throwIfNoEntry: false }) === undefined) return { removable: [], kept: [] };
  checkIsOurs(places, userHome);
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  for (const name of readdirSync(home, { encoding: 'buffer' }).map(String).sort()) {
    const path = join(home, name);
    if (!isOwn(name)) {
      kept.push({ what: path, why: 'is in the state directory, but Sallyport did not make it', how: removalOf(path) });
    } else if (keepJournal && name === 'journal') {
      kept.push({ what: path, why: 'is kept, as asked', how: removalOf(path) });
    } else if (keepJournal && (name === 'runs' || name === 'gateways') && lstatSync(path).isDirectory()) {
      const runs = findBeside(home, name);
      removable.push(...runs.removable);
      kept.push(...runs.kept);
    } else removable.push(entryOf(home, [name]));
  }
  // Its lock keeps gateways from starting here until all the rest is gone.
  removable.sort((a, b) => Number(a.what === places.journalDirectory) - Number(b.what === places.journalDirectory));
  // Last: it goes only when nothing is left in it.
  if (kept.length === 0) removable.push({ ...folderOf(home), what: home });
  return { removable, kept };
}

/** Refuses what no mistake in a variable may cost somebody. // Guards: a wrong or planted SALLYPORT_HOME */
function checkIsOurs({ home, caDirectory, journalDirectory, registryFile, sandboxSockets }: Places, userHome: string) {
  const real = realpathSync(home);
  for (const precious of ['/', realPath(userHome), realPath(homedir()), realPath(process.cwd())]) {
    // It, or what holds it.
    const way = relative(real, precious);
    if (way !== '' && (way === '..' || way.startsWith(`..${sep}`))) continue;
    throw new UninstallRefused(
      `${home} is not a state directory: ${real === precious ? 'it is' : 'it holds'} ${precious}`,
      'Set SALLYPORT_HOME to the directory that the gateway used, or leave it out.',
    );
  }
  // Also: not a link, not another user's, nothing above it that another user could swap.
  checkPrivateDirectory(home);
  const signs = [join(caDirectory, 'ca.pem'), join(journalDirectory, 'head'), registryFile, sandboxSockets];
  if (signs.some((sign) => isPlain(sign))) return;
  throw new UninstallRefused(
    `${home} does not look like a state directory of Sallyport: it has no ca/ca.pem, journal/head, registry.json or run/sandboxes`,
    `Set SALLYPORT_HOME to the directory that the gateway used. If it is this one, look at what is in it, then: ${removalOf(home)}`,
  );
}

/** For `--keep-journal`: each of them is a state directory with a journal of its own. */
function findBeside(home: string, folder: string): Found {
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  for (const run of list(join(home, folder))) {
    // A file or a link in their place is no state directory, and goes as it is.
    if (!lstatSync(join(home, folder, run)).isDirectory()) removable.push(entryOf(home, [folder, run]));
    for (const name of list(join(home, folder, run))) {
      const path = join(home, folder, run, name);
      if (name === 'journal') kept.push({ what: path, why: 'is kept, as asked', how: removalOf(path) });
      else removable.push(entryOf(home, [folder, run, name]));
    }
  }
  return { removable, kept };
}

function entryOf(home: string, way: readonly string[]): Removable {
  const path = join(home, ...way);
  const detail = (way.length === 1 && meanings[baseOf(way[0]!)]) || 'state of a gateway that `sallyport run` started';
  const remove = async (): Promise<void> => {
    const folders = [OpenFolder.open(home)];
    try {
      // The place may be another one than when it was looked at: that one was not judged.
      checkPrivateDirectory(home);
      for (const name of way.slice(0, -1)) folders.push(folders.at(-1)!.enter(name));
      folders.at(-1)!.removeTree(way.at(-1)!);
    } finally {
      for (const folder of folders) folder.close();
    }
  };
  return { kind: 'state', what: path, detail, how: removalOf(path), remove };
}

function folderOf(home: string): Omit<Removable, 'what'> {
  const remove = async (): Promise<void> => {
    try {
      rmdirSync(home);
    } catch (error) {
      if (codeOf(error) === 'ENOTEMPTY') throw new Error('it is not empty: something stayed, or was added meanwhile');
      throw error;
    }
  };
  return { kind: 'state', detail: 'the state directory itself', how: removalOf(home), remove };
}

function isOwn(name: string): boolean {
  const places = placesIn('/h');
  const known = new Set(Object.values(places).map((path) => relative('/h', path).split(sep)[0]));
  return known.has(baseOf(name)) || Object.hasOwn(meanings, baseOf(name));
}

/** A file that was being written when its gateway died has the name of the whole one in its own. */
function baseOf(name: string): string {
  return /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(name)?.[1] ?? name;
}

function isPlain(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.isFile() || found.isDirectory());
}

function list(path: string): string[] {
  try {
    return lstatSync(path).isDirectory() ? readdirSync(path).sort() : [];
  } catch {
    return [];
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function removalOf(path: string): string {
  return `rm -r -- ${quoteForShell(path)}`;
}
