// `4g`, `0.5`, `512`, `2h`: how much of the machine a sandbox may use, as a person writes it. For the command line and a policy.

type Read = { readonly value: number } | { readonly problem: string };

const units = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 } as const;
const spans = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** What starts the command needs this much itself. */
const leastMemory = 64 * units.m;
const leastPids = 16;
const mostPids = 4_194_304;
/** A timer cannot wait longer. */
const mostTime = 24 * spans.d;

export function parseMemory(text: string): Read {
  const [, number, unit] = /^(\d{1,9})([kmgt])(?:i?b)?$/i.exec(text) ?? [];
  if (number === undefined) return { problem: 'a number with k, m, g or t, such as 512m or 4g' };
  const bytes = Number(number) * units[unit!.toLowerCase() as keyof typeof units];
  if (bytes < leastMemory) return { problem: 'at least 64m' };
  return Number.isSafeInteger(bytes) ? { value: bytes } : { problem: 'less than that' };
}

export function parseCpus(text: string): Read {
  const cpus = /^\d{1,4}(?:\.\d{1,2})?$/.test(text) ? Number(text) : 0;
  return cpus < 0.05 ? { problem: 'a number such as 2 or 0.5, and at least 0.05' } : { value: cpus };
}

export function parsePids(text: string): Read {
  const pids = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  return pids < leastPids || pids > mostPids ? { problem: `a whole number from ${leastPids} on` } : { value: pids };
}

export function parseSpan(text: string): Read {
  const [, number, unit] = /^(\d{1,8})([smhd])$/.exec(text) ?? [];
  const ms = number === undefined ? 0 : Number(number) * spans[unit as keyof typeof spans];
  return ms === 0 || ms > mostTime
    ? { problem: 'a number with s, m, h or d, such as 90m or 2h, up to 24d' }
    : { value: ms };
}

export function memoryInWords(bytes: number): string {
  return inWords(bytes, units, '');
}

export function timeInWords(ms: number): string {
  return inWords(ms, spans, 'ms');
}

function inWords(amount: number, sizes: Readonly<Record<string, number>>, least: string): string {
  const [name, size] = Object.entries(sizes).findLast(([, one]) => amount % one === 0) ?? [least, 1];
  return `${amount / size}${name}`;
}
