// The command as it is built, with V8's compiled code beside it: made once for all test files of a run, from the source as it
// is, by whoever needs it first. Everybody gets a copy of their own.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const longestMs = 120_000;

export function copyBuiltDist(to: string): void {
  cpSync(builtDist(), to, { recursive: true });
}

function builtDist(): string {
  const shared = process.env.SALLYPORT_TESTS;
  if (shared === undefined) throw new Error('tests/support/whole-run.ts has not run');
  const dist = join(shared, 'dist');
  const done = join(shared, 'built');
  if (existsSync(done)) return dist;
  try {
    // Who makes it is the one who builds.
    mkdirSync(join(shared, 'building'));
  } catch {
    waitFor(done);
    return dist;
  }
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs'), dist, '--cache']);
  symlinkSync(dist, done);
  return dist;
}

function waitFor(path: string): void {
  const untilMs = performance.now() + longestMs;
  while (!existsSync(path)) {
    if (performance.now() > untilMs)
      throw new Error('the command was not built: another test file began to and failed');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }
}
