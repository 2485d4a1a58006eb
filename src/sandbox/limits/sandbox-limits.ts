// How much of the machine a sandbox may use, as it is asked for and as it is told. Pure: what holds it is found elsewhere.
import { parseCpus, parseMemory, parsePids, parseSpan } from '../../kit/text/limit-text.ts';
import { LaunchError, type SandboxLimits } from '../run/sandbox-plan.ts';

/** As a person or a program says them. */
export interface AskedLimits {
  readonly memory?: string | undefined;
  readonly cpus?: string | number | undefined;
  readonly pids?: string | number | undefined;
  readonly time?: string | undefined;
}

/** Throws a LaunchError for what is none. */
export function readLimits(asked: AskedLimits): SandboxLimits {
  return {
    ...(asked.memory !== undefined && { memory: read('memory', asked.memory, parseMemory) }),
    ...(asked.cpus !== undefined && { cpus: read('cpus', String(asked.cpus), parseCpus) }),
    ...(asked.pids !== undefined && { pids: read('pids', String(asked.pids), parsePids) }),
    ...(asked.time !== undefined && { time: read('time', asked.time, parseSpan) }),
  };
}

function read(name: string, text: string, parse: (text: string) => { value: number } | { problem: string }): number {
  const result = parse(text);
  if ('value' in result) return result.value;
  throw new LaunchError(`--${name} ${JSON.stringify(text)} is not a limit`, `Give ${result.problem}.`);
}
