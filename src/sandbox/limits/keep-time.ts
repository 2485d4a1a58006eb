// The time that a sandbox may run. When it is over the command is asked to end, and soon after every process is ended.

import { timeInWords } from '../../kit/text/limit-text.ts';
import { stopSandbox } from '../hands/stop-sandbox.ts';
import type { RunningSandbox, SandboxLimits } from '../run/sandbox-plan.ts';

interface TimedRequest {
  readonly limits?: SandboxLimits | undefined;
  readonly onTimeOver?: (words: string) => void;
}

/** As `timeout` says it. */
const timeOver = 124;
const graceMs = 10_000;

export function keepTime({ limits, onTimeOver }: TimedRequest, running: RunningSandbox): Promise<number> {
  const ms = limits?.time;
  if (ms === undefined) return running.ended;
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    onTimeOver?.(`the time of this sandbox is over (${timeInWords(ms)}): it is ended`);
    void stopSandbox(running, graceMs);
  }, ms);
  return running.ended.then((code) => (isOver ? timeOver : code)).finally(() => clearTimeout(timer));
}
