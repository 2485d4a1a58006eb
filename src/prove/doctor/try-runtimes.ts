// From inside: a real sandbox with a gateway and a pretend internet of its own, in which every runtime that is there makes one
// request. Says how each fared as soon as it is known.
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { layPretendGround, type PretendGroundPorts } from '../internet/pretend-ground.ts';
import type { SeenRequest } from '../internet/pretend-world.ts';
import { doctorGround } from './doctor-hosts.ts';
import type { DoctorFinding } from './finding.ts';
import { type InsideLine, insideScript, readLine } from './inside-script.ts';
import { judgeRuntime, judgeTried } from './judge-runtime.ts';
import { doctorRepository, type Runtime, runtimes, slugOf } from './runtimes.ts';

/** A refusal in the journal. */
export interface RefusedRecord {
  readonly host: string;
  readonly path: string;
  readonly reason: string | null;
}

export interface DoctorPorts extends PretendGroundPorts {
  refusals(): Promise<readonly RefusedRecord[]>;
  onProgress(text: string): void;
}

export interface InsideResult {
  readonly findings: readonly DoctorFinding[];
  /** From asking for the sandbox to its first word. */
  readonly startMs: number;
}

/** Of one runtime: a compiler on a busy machine takes its time. */
const secondsEach = 40;
const limitMs = 180_000;

export async function tryRuntimes(ports: DoctorPorts): Promise<InsideResult> {
  const ground = await layPretendGround(ports, doctorGround());
  try {
    const lanes = Math.min(4, Math.max(2, availableParallelism()));
    const askedMs = performance.now();
    const sandbox = await ground.start(['sh', '-c', insideScript(runtimes, lanes, secondsEach)], [doctorRepository]);
    const startMs = Math.round(performance.now() - askedMs);
    const { stdin, stdout, stderr } = sandbox.streams!;
    stdin.on('error', () => {});
    stdin.end();
    stderr.resume();
    const lines = new Map<string, InsideLine>();
    const show = (): void => ports.onProgress(`trying runtimes in a sandbox: ${lines.size} of ${runtimes.length}`);
    show();
    const allRead = new Promise<void>((resolve) => {
      createInterface({ input: stdout })
        .on('line', (text) => {
          const line = readLine(text);
          if (line !== null) lines.set(line.slug, line);
          show();
        })
        .on('close', resolve);
    });
    const limit = setTimeout(() => sandbox.kill(), limitMs);
    await sandbox.ended.finally(() => clearTimeout(limit));
    await allRead;
    ports.signal.throwIfAborted();
    const refusals = await ports.refusals();
    const findings = runtimes.map((runtime) =>
      judgeRuntime(runtime, {
        line: lines.get(slugOf(runtime.name)) ?? null,
        arrived: ground.world.seen.some((seen) => isOf(runtime, seen)),
        refused: refusals.find(({ host, path }) => `${host}${path}`.startsWith(runtime.asks))?.reason ?? null,
      }),
    );
    // By name: the order of trying is of no interest.
    findings.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    return { findings: judgeTried(findings), startMs };
  } finally {
    await ground.clear();
  }
}

function isOf({ asks }: Runtime, { host, url }: SeenRequest): boolean {
  return `${host}${url}`.startsWith(asks);
}
