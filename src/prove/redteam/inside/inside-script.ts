// The attacker as one text that Node runs inside the sandbox: reads a probe per line, tries it, says what came of it. Made
// of functions, not of files, so that it is the same from source and from a bundle, and nothing but Node is needed there.
import type { Observation, Probe, ProbeHandler } from '../probe.ts';
import { insideFiles } from './inside-files.ts';
import { insideNetwork } from './inside-network.ts';

type AnyHandler = ProbeHandler<Probe['do']>;

/** Runs inside, as text: must use nothing but its parameters and what `process` gives it. */
function insideLoop(...parts: readonly object[]): void {
  const handlers = Object.assign({}, ...parts) as Record<string, AnyHandler | undefined>;
  const { createInterface } = process.getBuiltinModule('node:readline');
  const nothing: Observation = { ok: true, error: null, text: '', exit: null };
  const tried = async (probe: Probe): Promise<Observation> => {
    try {
      const handler = handlers[probe.do];
      if (handler === undefined) throw new Error(`${probe.do} is unknown`);
      const observed: Observation = { ...nothing, ...(await handler(probe as never)) };
      return { ...observed, ok: observed.error === null };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { ...nothing, ok: false, error: code ?? message };
    }
  };
  const say = (value: object): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);
  // A socket that fails after its probe is over must not end the attacker.
  process.on('uncaughtException', () => {});
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const { number, probes } = JSON.parse(line) as { number: number; probes: Probe[] };
    const observations: Observation[] = [];
    for (const probe of probes) observations.push(await tried(probe));
    say({ number, observations });
  });
  say({ ready: process.pid });
}

/** ES module source. A bundler that keeps names wraps functions in a helper, which the text must bring itself. */
export function insideScript(): string {
  const parts = [insideFiles, insideNetwork].map((part) => `(${part.toString()})()`);
  return `const __name = (value) => value;\n(${insideLoop.toString()})(${parts.join(', ')});\n`;
}
