// The control groups of one sandbox: an outer one with the limits and an inner one with its processes. A sandbox may come to see the
// files of the group that it is in, which belong to its user; those of the outer one it never does. // Guards: threats.md T118
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processBirth } from '../../kit/process/process-birth.ts';
import type { CgroupController, CgroupPlace } from './find-cgroups.ts';

export interface CgroupLimit {
  readonly controller: CgroupController;
  readonly place: CgroupPlace;
  /** Bytes, processors or processes. */
  readonly value: number;
}

const prefix = 'sallyport-';
const inner = 'inside';
/** The time in which processors are counted, in microseconds, as the kernel has it by itself. */
const period = 100_000;

export class SandboxCgroup {
  readonly #folders: readonly string[];
  readonly #memory: string | null;

  /** Throws when one of the limits cannot be set. */
  static make(limits: readonly CgroupLimit[]): SandboxCgroup {
    const name = `${prefix}${process.pid}-${processBirth(process.pid)}-${randomBytes(4).toString('hex')}`;
    const made = new Set<string>();
    try {
      for (const { controller, place, value } of limits) {
        const folder = join(place.folder, name);
        if (!made.has(folder)) {
          sweep(place.folder);
          mkdirSync(folder, { mode: 0o755 });
          made.add(folder);
        }
        for (const [file, text, isNeeded] of filesOf(controller, place.version, value))
          write(join(folder, file), text, isNeeded);
      }
      for (const folder of made) mkdirSync(join(folder, inner), { mode: 0o755 });
      const memory = limits.find(({ controller }) => controller === 'memory')?.place;
      return new SandboxCgroup([...made], memory === undefined ? null : join(memory.folder, name));
    } catch (error) {
      for (const folder of made) removeGroup(folder);
      throw error;
    }
  }

  private constructor(folders: readonly string[], memory: string | null) {
    this.#folders = folders;
    this.#memory = memory;
  }

  /** What it starts from now on is in it too. */
  place(pid: number): void {
    for (const folder of this.#folders) writeFileSync(join(folder, inner, 'cgroup.procs'), String(pid));
  }

  /** How many of its processes the kernel has ended because the memory was used up. */
  killedForMemory(): number {
    if (this.#memory === null) return 0;
    const counts = ['memory.events', 'memory.oom_control'].flatMap((file) =>
      [this.#memory!, join(this.#memory!, inner)].map((folder) =>
        Number(/^oom_kill (\d+)$/m.exec(readOr(join(folder, file)))?.[1] ?? 0),
      ),
    );
    return Math.max(...counts);
  }

  /** When its processes are gone; the last of them may need a moment to be. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      if (this.#folders.map(removeGroup).every(Boolean)) return;
      await sleep(20);
    }
  }
}

function filesOf(
  controller: CgroupController,
  version: 1 | 2,
  value: number,
): readonly (readonly [file: string, text: string, isNeeded: boolean])[] {
  switch (controller) {
    case 'memory':
      // Without the second a sandbox would go on in the swap space of all. A kernel may count none.
      return version === 2
        ? [
            ['memory.max', String(value), true],
            ['memory.swap.max', '0', false],
          ]
        : [
            ['memory.limit_in_bytes', String(value), true],
            ['memory.memsw.limit_in_bytes', String(value), false],
          ];
    case 'pids':
      return [['pids.max', String(value), true]];
    case 'cpu': {
      const quota = String(Math.round(value * period));
      return version === 2
        ? [['cpu.max', `${quota} ${period}`, true]]
        : [
            ['cpu.cfs_period_us', String(period), true],
            ['cpu.cfs_quota_us', quota, true],
          ];
    }
  }
}

function write(file: string, text: string, isNeeded: boolean): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    if (isNeeded) throw error;
  }
}

/** Those of launchers that were killed. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = /^sallyport-(\d+)-(\d+)-[0-9a-f]{8}$/.exec(name);
    if (owner !== null && processBirth(Number(owner[1])) !== owner[2]) removeGroup(join(folder, name));
  }
}

/** False: there are processes in it. */
function removeGroup(folder: string): boolean {
  try {
    // What the sandbox has made below its own.
    for (const group of groupsIn(folder)) rmdirSync(group);
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** The deepest first. */
function groupsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [...groupsIn(join(folder, name)), join(folder, name)]);
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
