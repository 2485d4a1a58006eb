// The red team against the real thing, and against a sandbox that isolates next to nothing: it must find what holds and,
// just as surely, what does not.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { createContext } from '../../src/cli/cli-context.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Verdict } from '../../src/prove/redteam/attack.ts';
import type { AttackResult } from '../../src/prove/redteam/run-attacks.ts';
import { createLeakyLauncher } from '../support/leaky-launcher.ts';
import { attackWith } from '../support/redteam-ground.ts';

interface Report {
  readonly ok: boolean;
  readonly launcher: string;
  readonly seconds: number;
  readonly counts: Record<Verdict, number>;
  readonly attacks: readonly AttackResult[];
}

const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('sallyport-redteam-'));

async function redteam(...args: string[]): Promise<{ code: number; out: string; said: string }> {
  let [out, said] = ['', ''];
  const context = createContext({
    env: { ...process.env, NO_COLOR: '1' },
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (said += text) },
  });
  const code = await runCommandLine(['redteam', ...args], context);
  return { code, out, said };
}
