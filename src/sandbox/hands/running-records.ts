// Which sandboxes run on this machine for this user, as `sallyport ps` lists them: a file each in the state directory, which no
// sandbox sees. One with a name, or in the background, leaves its file behind for a while: how it ended is asked for later.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';
import { processBirth } from '../../kit/process/process-birth.ts';
import { LaunchError } from '../run/sandbox-plan.ts';

export interface RunningRecord {
  readonly id: string;
  readonly name: string | null;
  readonly launcher: string;
  readonly command: readonly string[];
  readonly workingDirectory: string;
  /** ISO 8601. */
  readonly since: string;
  readonly state: 'starting' | 'running' | 'ended';
  /** Null: it runs, or nobody saw how it ended. */
  readonly exitCode: number | null;
  readonly endedAt: string | null;
  /** Whoever started it, with which it ends. */
  readonly pid: number;
  readonly birth: string | null;
  /** What it may use, in words; empty: no limits were asked for. */
  readonly limits: readonly string[];
  /** Ports of it that the host sees, in words. */
  readonly ports: readonly string[];
  /** The process that keeps its terminal, when it runs in the background. */
  readonly background: boolean;
  /** Of its control socket, in the same folder. */
  readonly socket: string;
}

export interface NotedRunning {
  readonly record: RunningRecord;
  change(facts: Partial<Pick<RunningRecord, 'state' | 'limits' | 'ports'>>): void;
  end(exitCode: number | null): void;
}

const ending = '.json';
/** Files of what has ended; the oldest go first. */
const maxEnded = 50;

export function runningFolder(state: string): string {
  return join(state, 'running');
}

/** What a person may call a sandbox, and what may stand in a path. // Guards: threats.md T115 */
const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/;

export function checkName(name: string): string {
  if (namePattern.test(name)) return name;
  throw new LaunchError(
    `${JSON.stringify(name)} cannot be the name of a sandbox`,
    'Use 1 to 63 letters, digits and _ . -, and begin with a letter or a digit.',
  );
}

export type NewRunning = Omit<
  RunningRecord,
  'since' | 'state' | 'exitCode' | 'endedAt' | 'pid' | 'birth' | 'socket' | 'ports' | 'limits'
>;

/** Throws a LaunchError when the name is that of a sandbox that runs. */
export function noteRunning(state: string, facts: NewRunning): NotedRunning {
  const folder = runningFolder(state);
  ensurePrivateDirectory(folder);
  if (facts.name !== null) checkName(facts.name);
  let record: RunningRecord = {
    ...facts,
    since: new Date().toISOString(),
    state: 'starting',
    exitCode: null,
    endedAt: null,
    pid: process.pid,
    birth: processBirth(process.pid),
    limits: [],
    ports: [],
    socket: `${randomBytes(6).toString('hex')}.s`,
  };
  const place = join(folder, `${randomBytes(8).toString('hex')}${ending}`);
  // Written before it is judged: of two that begin at once at least one sees the other.
  write(place, record);
  const taken = facts.name === null ? undefined : holderOf(state, facts.name, place);
  if (taken !== undefined) {
    rmSync(place, { force: true });
    throw new LaunchError(
      `a sandbox named ${facts.name} runs already (${taken.id})`,
      `Take another name, or end it: sallyport stop ${facts.name}`,
    );
  }
  forgetOldest(state, facts.name);
  return {
    get record() {
      return record;
    },
    change(changed) {
      if (record.state === 'ended') return;
      record = { ...record, ...changed };
      write(place, record);
    },
    end(exitCode) {
      rmSync(join(folder, record.socket), { force: true });
      if (record.name === null && !record.background) return rmSync(place, { force: true });
      record = { ...record, state: 'ended', exitCode, endedAt: new Date().toISOString() };
      write(place, record);
    },
  };
}

/** The oldest first. With `ended`: also what has ended and is still known. */
export function readRunning(state: string, { ended = false } = {}): readonly RunningRecord[] {
  return readAll(state)
    .map(({ record }) => record)
    .filter((record) => ended || record.state !== 'ended')
    .sort((a, b) => (a.since < b.since ? -1 : 1));
}

/** By id or name; of several that had the name, the one that runs, else the newest. Null: none. */
export function findRecord(state: string, which: string): RunningRecord | null {
  const found = readRunning(state, { ended: true }).filter(({ id, name }) => id === which || name === which);
  return found.find((record) => record.state !== 'ended') ?? found.at(-1) ?? null;
}

function holderOf(state: string, name: string, own: string): RunningRecord | undefined {
  return readAll(state).find(
    ({ place, record }) => place !== own && record.state !== 'ended' && (record.name === name || record.id === name),
  )?.record;
}

function readAll(state: string): { place: string; record: RunningRecord }[] {
  const folder = runningFolder(state);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter((name) => name.endsWith(ending))
    .flatMap((name) => {
      const place = join(folder, name);
      try {
        const record = JSON.parse(readFileSync(place, 'utf8')) as RunningRecord;
        if (record.state === 'ended' || isAlive(record)) return [{ place, record }];
        // Killed before it could say so.
        rmSync(join(folder, record.socket), { force: true });
        const lost: RunningRecord = { ...record, state: 'ended', endedAt: new Date().toISOString() };
        if (record.name === null && !record.background) rmSync(place, { force: true });
        else write(place, lost);
        return record.name === null && !record.background ? [] : [{ place, record: lost }];
      } catch {
        // Gone, or of another version: not one that could be spoken to.
        return [];
      }
    });
}

function isAlive({ pid, birth }: RunningRecord): boolean {
  return birth !== null && processBirth(pid) === birth;
}

/** A name that is used again is the new one's; and what has ended is not kept for ever. */
function forgetOldest(state: string, name: string | null): void {
  const ended = readAll(state)
    .filter(({ record }) => record.state === 'ended')
    .sort((a, b) => statTime(b.place) - statTime(a.place));
  for (const [at, { place, record }] of ended.entries()) {
    if (at >= maxEnded || (name !== null && record.name === name)) {
      rmSync(place, { force: true });
      for (const what of ['', '.1', '.start'])
        rmSync(join(runningFolder(state), `${record.id}.output${what}`), { force: true });
    }
  }
}

function statTime(place: string): number {
  try {
    return statSync(place).mtimeMs;
  } catch {
    return 0;
  }
}

function write(place: string, record: RunningRecord): void {
  writeFileSync(`${place}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${place}.new`, place);
}
