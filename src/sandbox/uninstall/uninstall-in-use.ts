// Finds out who still uses the state directory: a gateway (by its socket and locks), a sandbox that was started from it, a
// process that has it mounted. Ends none of them: it names them, and nothing is removed while they run.
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { takeLock } from '../../kit/files/file-lock.ts';
import { homesWithJournals } from '../../kit/files/gateway-homes.ts';
import { type Places, placesIn } from '../../kit/files/home.ts';
import { readPeerCredentials } from '../../kit/process/peer-credentials.ts';
import { processBirth } from '../../kit/process/process-birth.ts';
import { UninstallRefused } from './uninstall-item.ts';

const again = 'then run this again';

/** Throws while somebody uses it. Changes nothing. */
export async function checkUnused(places: Places): Promise<void> {
  const letGo = await takeLocks(places, false);
  letGo();
  checkLaunchers(places);
  checkMounts(places.home);
}

/** The same, and holds it: no gateway can start there until what is returned is called. */
export async function holdState(places: Places): Promise<() => void> {
  const letGo = await takeLocks(places, true);
  try {
    checkLaunchers(places);
    checkMounts(places.home);
  } catch (error) {
    letGo();
    throw error;
  }
  return letGo;
}

/** Of this gateway, and of those beside it. `make`: also where there is no lock yet. */
async function takeLocks({ home }: Places, make: boolean): Promise<() => void> {
  const held: (() => void)[] = [];
  const letGo = (): void => {
    for (const release of held) release();
  };
  try {
    for (const one of homesWithJournals(home)) {
      const { adminSocket, journalDirectory } = placesIn(one);
      const answering = await whoAnswers(adminSocket);
      if (answering !== null) throw inUse(one, answering);
      for (const lock of [`${adminSocket}.lock`, join(journalDirectory, 'lock')]) {
        if (!exists(make ? dirname(lock) : lock)) continue;
        const release = takeLock(lock);
        if (release === null) throw inUse(one, `it holds ${lock}`);
        held.push(release);
      }
    }
  } catch (error) {
    letGo();
    throw error;
  }
  return letGo;
}

function inUse(home: string, who: string): UninstallRefused {
  const pid = /^process (\d+)$/.exec(who)?.[1];
  const stop = pid === undefined ? 'Stop it (Ctrl-C where it runs, or SIGTERM)' : `Stop it: kill ${pid}`;
  return new UninstallRefused(`a gateway is running on ${home} (${who})`, `${stop}, ${again}.`);
}

/** Null: nobody listens there. */
async function whoAnswers(path: string): Promise<string | null> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return null;
  return new Promise((resolve) => {
    const socket: Socket = connect(path);
    socket.once('connect', () => {
      readPeerCredentials(socket)
        .then(
          ({ pid }) => resolve(pid > 0 ? `process ${pid}` : `it listens on ${path}`),
          () => resolve(`it listens on ${path}`),
        )
        .finally(() => socket.destroy());
    });
    // Only a refused connection proves that nobody listens.
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? null : `it listens on ${path}`);
    });
  });
}

/** Folders of running sandboxes and gateways carry the process that made them. */
function checkLaunchers({ sandboxFolders, runsDirectory }: Places): void {
  const made = [...namesIn(sandboxFolders), ...namesIn(runsDirectory)];
  for (const name of made) {
    const owner = /(?:^|\.)(\d+)[.-](\d+)$/.exec(name);
    if (owner === null || processBirth(Number(owner[1])) !== owner[2]) continue;
    throw new UninstallRefused(
      `a sandbox of this state directory is running (process ${owner[1]})`,
      `Let it end, or: kill ${owner[1]}, ${again}.`,
    );
  }
}

/** One line of /proc/PID/mountinfo. */
interface Mount {
  readonly device: string;
  /** What of its file system is mounted, and where. */
  readonly root: string;
  readonly point: string;
}

/** What is mounted in the directory would be emptied with it; who has it mounted elsewhere is a sandbox that lives on. */
function checkMounts(home: string): void {
  const real = realpathSync(home);
  const own = mountsOf('self');
  const inside = own.find(({ point }) => point !== real && liesIn(point, real));
  if (inside !== undefined) {
    throw new UninstallRefused(
      `${inside.point} is a mount: Sallyport does not remove what is in it`,
      `Unmount it, ${again}.`,
    );
  }
  // The last of the longest: a later mount covers an earlier one.
  const around = own
    .filter(({ point }) => liesIn(real, point))
    .reduce((a, b) => (b.point.length >= a.point.length ? b : a));
  const place = join(around.root, relative(around.point, real));
  const space = linkOf('/proc/self/ns/mnt');
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name))) {
    // Elsewhere alone: in our own space the mount was looked at above.
    if (linkOf(`/proc/${pid}/ns/mnt`) === space) continue;
    const has = mountsOf(pid).some(
      ({ device, root }) => device === around.device && root !== '/' && liesIn(root, place),
    );
    if (!has) continue;
    throw new UninstallRefused(
      `process ${pid} still has a part of ${home} mounted: it is a running sandbox or a container`,
      `Look at what it is (ps -fp ${pid}), end it, ${again}.`,
    );
  }
}

function mountsOf(pid: string): Mount[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
  } catch {
    // Gone, or of another user: who then cannot have anything of a private directory mounted.
    return [];
  }
  return text.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ');
    return device && root && point ? [{ device, root: unescaped(root), point: unescaped(point) }] : [];
  });
}

/** The kernel writes a space as \040. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function liesIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function namesIn(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}
