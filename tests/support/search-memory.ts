// Looks through the memory of every process of a sandbox while it runs, as the host sees it: what was written there and is
// still there. Read page by page where there are pages, so that the huge reservations of runtimes cost nothing. And through
// the files that go with the sandbox.
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';

export interface MemorySearch {
  /** Names of the processes that were looked through. */
  readonly processes: readonly string[];
  readonly bytes: number;
  /** For each text, how often it was found and in which processes. */
  readonly found: ReadonlyMap<string, readonly string[]>;
}

const pageBytes = 4096;
/** Pages read at a time. */
const maxRunPages = 1024;
/** More than all agents together have: beyond it the search is no search, and says so. */
const maxBytes = 4 * 1024 ** 3;

/** Below this process, whatever has another network than this one: the sandbox, and none of the gateway. */
export function sandboxProcesses(root: number = process.pid): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = tryRead(() => Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))![1]));
    if (parent !== null) parents.set(Number(name), parent);
  }
  const isBelow = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at)) if (at === root) return true;
    return false;
  };
  const ours = readlinkSync('/proc/self/ns/net');
  return [...parents.keys()].filter(
    (pid) => isBelow(pid) && ![ours, null].includes(tryRead(() => readlinkSync(`/proc/${pid}/ns/net`))),
  );
}

export function searchMemory(pids: readonly number[], texts: readonly string[]): MemorySearch {
  // Runtimes keep text in one byte a letter or in two.
  const needles = texts.flatMap((text) => [Buffer.from(text, 'latin1'), Buffer.from(text, 'utf16le')]);
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  const found = new Map<string, string[]>(texts.map((text) => [text, []]));
  const processes: string[] = [];
  let bytes = 0;
  for (const pid of pids) {
    const name = tryRead(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
    // It has ended meanwhile: then it has no memory.
    if (name === null) continue;
    processes.push(name);
    let tail = Buffer.alloc(0);
    for (const { chunk, follows } of writtenMemory(pid)) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`the sandbox has more than ${maxBytes} bytes of memory`);
      const whole = follows ? Buffer.concat([tail, chunk]) : chunk;
      for (const [at, needle] of needles.entries()) {
        if (whole.includes(needle)) found.get(texts[at >> 1]!)!.push(name);
      }
      tail = Buffer.from(whole.subarray(Math.max(0, whole.length - overlap)));
    }
  }
  return { processes, bytes, found };
}

/** Where a sandbox can write that is gone after it. */
const passingFolders = ['tmp', 'var/tmp', 'run', 'dev/shm'];

/** The paths, as these processes see them, of files that hold the text. */
export function searchPassingFiles(pids: readonly number[], text: string): string[] {
  const folders = pids.flatMap((pid) => passingFolders.map((name) => `/proc/${pid}/root/${name}`));
  const found = folders.flatMap((folder) => {
    const entries = tryRead(() => readdirSync(folder, { recursive: true, withFileTypes: true })) ?? [];
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`);
    return paths.filter((path) => tryRead(() => readFileSync(path).includes(text)) === true);
  });
  return [...new Set(found.map((path) => path.replace(/^\/proc\/\d+\/root/, '')))];
}

/** Runs of pages that are there, of mappings that can be written to; `follows`: right behind the one before. */
function* writtenMemory(pid: number): Generator<{ readonly chunk: Buffer; readonly follows: boolean }> {
  const maps = tryRead(() => readFileSync(`/proc/${pid}/maps`, 'utf8')) ?? '';
  const memory = tryRead(() => openSync(`/proc/${pid}/mem`, 'r'));
  const pages = tryRead(() => openSync(`/proc/${pid}/pagemap`, 'r'));
  if (memory === null || pages === null) throw new Error(`the memory of process ${pid} cannot be read`);
  let last = -1;
  try {
    for (const line of maps.split('\n')) {
      const region = /^([0-9a-f]+)-([0-9a-f]+) r(w|-)\S+ \S+ \S+ (\d+)/.exec(line);
      // What cannot be written to and comes from a file is that file.
      if (region === null || (region[3] === '-' && region[4] !== '0')) continue;
      const [from, to] = [Number.parseInt(region[1]!, 16), Number.parseInt(region[2]!, 16)];
      for (const run of presentRuns(pages, from, to)) {
        const chunk = Buffer.alloc(run.pages * pageBytes);
        const read = tryRead(() => readSync(memory, chunk, 0, chunk.length, run.at));
        if (read === null || read === 0) continue;
        yield { chunk: chunk.subarray(0, read), follows: run.at === last };
        last = run.at + read;
      }
    }
  } finally {
    closeSync(memory);
    closeSync(pages);
  }
}

/** From the kernel's own list: the highest bit of an entry says that the page is there, the next that it is swapped out. */
function* presentRuns(pages: number, from: number, to: number): Generator<{ at: number; pages: number }> {
  const entries = Buffer.alloc(8 * 64 * maxRunPages);
  for (let at = from; at < to; at += (entries.length / 8) * pageBytes) {
    const wanted = Math.min(entries.length, ((to - at) / pageBytes) * 8);
    const read = tryRead(() => readSync(pages, entries, 0, wanted, (at / pageBytes) * 8)) ?? 0;
    let start = -1;
    for (let i = 0; i <= read / 8; i++) {
      const there = i < read / 8 && (entries[i * 8 + 7]! & 0xc0) !== 0;
      if (start >= 0 && (!there || i - start === maxRunPages)) {
        yield { at: at + start * pageBytes, pages: i - start };
        start = -1;
      }
      if (there && start < 0) start = i;
    }
  }
}

/** Null: the process or the page is gone, or is not to be read. */
function tryRead<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
