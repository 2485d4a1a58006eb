// How much of the machine a sandbox may use, as it is asked for and as it is told. Pure: what holds it is found elsewhere.
import { LaunchError, type SandboxLimits } from '../run/sandbox-plan.ts';

/** As a person or a program says them. */
export interface AskedLimits {
  readonly memory?: string | undefined;
  readonly cpus?: string | number | undefined;
  readonly pids?: string | number | undefined;
  readonly time?: string | undefined;
}

const units = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 } as const;
const spans = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** What starts the command needs this much itself. */
const leastMemory = 64 * units.m;
const leastPids = 16;
const mostPids = 4_194_304;
/** A timer cannot wait longer. */
const mostTime = 24 * spans.d;

/** Throws a LaunchError for what is none. */
export function readLimits(asked: AskedLimits): SandboxLimits {
  return {
    ...(asked.memory !== undefined && { memory: readMemory(asked.memory) }),
    ...(asked.cpus !== undefined && { cpus: readCpus(String(asked.cpus)) }),
    ...(asked.pids !== undefined && { pids: readPids(String(asked.pids)) }),
    ...(asked.time !== undefined && { time: readTime(asked.time) }),
  };
}

export function memoryInWords(bytes: number): string {
  const [name, size] = (Object.entries(units) as [string, number][]).findLast(([, unit]) => bytes % unit === 0) ?? [
    '',
    1,
  ];
  return `${bytes / size}${name}`;
}

export function timeInWords(ms: number): string {
  const [name, size] = (Object.entries(spans) as [string, number][]).findLast(([, span]) => ms % span === 0) ?? [
    'ms',
    1,
  ];
  return `${ms / size}${name}`;
}

function readMemory(text: string): number {
  const [, number, unit] = /^(\d{1,9})([kmgt])(?:i?b)?$/i.exec(text) ?? [];
  if (number === undefined) throw wrong('memory', text, 'a number with k, m, g or t, such as 512m or 4g');
  const bytes = Number(number) * units[unit!.toLowerCase() as keyof typeof units];
  if (bytes < leastMemory) throw wrong('memory', text, 'at least 64m');
  if (!Number.isSafeInteger(bytes)) throw wrong('memory', text, 'less than that');
  return bytes;
}

function readCpus(text: string): number {
  const cpus = /^\d{1,4}(?:\.\d{1,2})?$/.test(text) ? Number(text) : 0;
  if (cpus < 0.05) throw wrong('cpus', text, 'a number such as 2 or 0.5, and at least 0.05');
  return cpus;
}

function readPids(text: string): number {
  const pids = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (pids < leastPids || pids > mostPids) throw wrong('pids', text, `a whole number from ${leastPids} on`);
  return pids;
}

function readTime(text: string): number {
  const [, number, unit] = /^(\d{1,8})([smhd])$/.exec(text) ?? [];
  const ms = number === undefined ? 0 : Number(number) * spans[unit as keyof typeof spans];
  if (ms === 0 || ms > mostTime) throw wrong('time', text, 'a number with s, m, h or d, such as 90m or 2h, up to 24d');
  return ms;
}

function wrong(name: string, text: string, should: string): LaunchError {
  return new LaunchError(`--${name} ${JSON.stringify(text)} is not a limit`, `Give ${should}.`);
}
