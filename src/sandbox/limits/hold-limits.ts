// Holds a sandbox to its limits before its command runs: by control groups where this user may make them, by limits of each process
// where those will do, and else refuses: a limit that does not hold is worse than none. Says which it was.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { memoryInWords, timeInWords } from '../../kit/text/limit-text.ts';
import { needTool } from '../namespace/find-tool.ts';
import { childrenOf } from '../namespace/process-tree.ts';
import { LaunchError, type SandboxLimits } from '../run/sandbox-plan.ts';
import { type CgroupController, type CgroupPlace, findCgroup } from './find-cgroups.ts';
import { SandboxCgroup } from './sandbox-cgroup.ts';

export interface HeldLimits {
  /** For the user: each limit and what holds it. */
  readonly words: readonly string[];
  /** Every process below this one, and what they start. Itself not: it waits for them. */
  hold(guard: number): Promise<void>;
  /** For the user, at the end: which limit ended something. */
  met(): readonly string[];
  /** When every process of it is gone. */
  end(): Promise<void>;
}

const names = { memory: 'memory', cpus: 'cpu', pids: 'pids' } as const;

/** Docker has limits of its own. */
export function limitsOfDocker(limits: SandboxLimits): HeldLimits {
  return { words: inWords(limits, () => 'Docker'), hold: async () => {}, met: () => [], end: async () => {} };
}

/** Throws a LaunchError when one of them cannot be held here. */
export function prepareLimits(
  limits: SandboxLimits,
  find: (controller: CgroupController) => CgroupPlace | null = findCgroup,
  uid = process.geteuid?.(),
): HeldLimits {
  const asked = (['memory', 'cpus', 'pids'] as const).filter((name) => limits[name] !== undefined);
  const places = new Map(asked.map((name) => [name, find(names[name])]));
  const grouped = asked.flatMap((name) => {
    const place = places.get(name) ?? null;
    return place === null ? [] : [{ controller: names[name], place, value: limits[name]! }];
  });
  const byProcess = asked.filter((name) => (places.get(name) ?? null) === null);
  for (const name of byProcess) refuseUnheld(name, uid);
  const cgroup = grouped.length === 0 ? null : SandboxCgroup.make(grouped);
  const prlimit =
    byProcess.length === 0 ? null : needTool('prlimit', 'install util-linux, which every distribution has');
  const options = byProcess.map((name) =>
    // Not of the address space: runtimes reserve far more of it than they use.
    name === 'memory' ? `--data=${limits.memory}:${limits.memory}` : `--nproc=${limits.pids}:${limits.pids}`,
  );
  return {
    words: inWords(limits, (name) => {
      if (places.get(name) != null) return 'cgroup';
      return name === 'memory' ? 'rlimit; no cgroup here' : 'rlimit';
    }),
    async hold(guard) {
      const held = new Set<number>();
      // Until there is none that came while we looked.
      for (let found = below(guard, held); found.length > 0; found = below(guard, held)) {
        for (const pid of found) {
          held.add(pid);
          await holdOne(pid, cgroup, prlimit === null ? null : [prlimit, '--pid', String(pid), ...options]);
        }
      }
      if (held.size === 0) throw new LaunchError('the sandbox ended before it was limited', 'try again');
    },
    met() {
      const killed = cgroup?.killedForMemory() ?? 0;
      if (killed === 0) return [];
      const [what, were] = killed === 1 ? ['process', 'was'] : ['processes', 'were'];
      return [
        `its memory (${memoryInWords(limits.memory!)}) was used up: ${killed} ${what} in it ${were} ended for that`,
      ];
    },
    end: async () => cgroup?.remove(),
  };
}

async function holdOne(pid: number, cgroup: SandboxCgroup | null, words: readonly string[] | null): Promise<void> {
  try {
    cgroup?.place(pid);
    if (words !== null) await promisify(execFile)(words[0]!, words.slice(1), { env: {} });
  } catch (error) {
    // It has ended meanwhile: a short-lived one.
    if (!isGone(pid)) throw error;
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function below(pid: number, known: ReadonlySet<number>): number[] {
  return childrenOf(pid).flatMap((child) => [...(known.has(child) ? [] : [child]), ...below(child, known)]);
}

function refuseUnheld(name: 'memory' | 'cpus' | 'pids', uid: number | undefined): void {
  if (name === 'memory' || (name === 'pids' && uid !== 0)) return;
  const why =
    name === 'cpus' ? 'nothing else can hold processors' : 'the kernel counts the processes of root by nothing else';
  throw new LaunchError(
    `--${name} needs a control group, and this user may make none with ${names[name]} here: ${why}`,
    uid === 0
      ? `leave --${name} out, or mount cgroup2 with the controller ${names[name]}`
      : `start it as: systemd-run --user --scope sallyport run …, or leave --${name} out`,
  );
}

function inWords(limits: SandboxLimits, by: (name: 'memory' | 'cpus' | 'pids') => string): string[] {
  const { memory, cpus, pids, time } = limits;
  const memoryBy = by('memory');
  const perProcess = memoryBy.startsWith('rlimit') ? ' per process' : '';
  return [
    ...(memory === undefined ? [] : [`memory ${memoryInWords(memory)}${perProcess} (${memoryBy})`]),
    ...(cpus === undefined ? [] : [`${cpus} cpus (${by('cpus')})`]),
    ...(pids === undefined ? [] : [`${pids} processes (${by('pids')})`]),
    ...(time === undefined ? [] : [`time ${timeInWords(time)}`]),
  ];
}
