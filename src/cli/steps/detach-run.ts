// `run --detach`: the same command line once more, in a session of its own and without a terminal. Returns when the sandbox runs, or
// says what it said instead.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';
import { forgetOutput, outputFile } from '../../sandbox/hands/kept-output.ts';
import { findRecord, runningFolder } from '../../sandbox/hands/running-records.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';
import { printable } from '../terminal/printable.ts';

const idPattern = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

/** `told`: the variable that tells the second one its id, and that it is the second one. */
export async function detachRun(context: CliContext, wanted: string | undefined, told: string): Promise<void> {
  const id = wanted ?? `sbx_${randomBytes(8).toString('hex')}`;
  if (!idPattern.test(id))
    throw new CommandFailed(
      exitCode.usage,
      `--id ${JSON.stringify(id)} is no id`,
      'Use a-z 0-9 _ . - and begin with a letter or digit.',
    );
  const { home } = context.places;
  ensurePrivateDirectory(home);
  ensurePrivateDirectory(runningFolder(home));
  const running = findRecord(home, id);
  if (running !== null && running.state !== 'ended')
    throw new CommandFailed(exitCode.notStarted, `${id} runs already`, 'choose another --id, or leave it out');
  const file = outputFile(home, id);
  forgetOutput(file);
  const said = openSync(`${file}.start`, 'wx', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    cwd: context.cwd,
    env: { ...context.env, PATH: context.userPath, [told]: id },
    detached: true,
    stdio: ['ignore', said, said],
  });
  closeSync(said);
  let code: number | null = null;
  child.once('error', () => {
    code = exitCode.notStarted;
  });
  child.once('exit', (ended, signal) => {
    code = ended ?? (signal === null ? 1 : 137);
  });
  for (;;) {
    const record = findRecord(home, id);
    if (record?.state === 'running' || (record?.state === 'ended' && record.exitCode !== null)) break;
    if (code !== null) {
      context.say(readFileSync(`${file}.start`, 'utf8').trimEnd());
      forgetOutput(file);
      context.exitCode = code;
      return;
    }
    await sleep(20);
  }
  child.unref();
  context.print(printable(id));
}
