#!/usr/bin/env node
// Runs every test, and gives what did not pass a second look: alone, when nothing else runs, three times in a row. Nearly
// nine hundred files with real processes, browsers and kernels share two cores, and one of them may be starved by the rest.
// What holds alone is reported loudly and does not fail the run; what fails alone, more than a few files, and an error
// that belongs to no test do. `npm test` gives no second look.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** More than this is not bad luck. */
const mostFiles = 3;
const looks = 3;

const reporter = fileURLToPath(new URL('second-look-reporter.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sallyport-second-look-'));
const found = join(folder, 'found.json');

function vitest(words, env = {}) {
  const run = spawnSync('npx', ['--no-install', 'vitest', 'run', ...words], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return run.status === 0;
}

function failedFiles() {
  try {
    const { reason, failed, unhandled } = JSON.parse(readFileSync(found, 'utf8'));
    if (reason !== 'failed' || unhandled > 0) return [];
    return failed.map((path) => relative(process.cwd(), path));
  } catch {
    // It did not get to its end.
    return [];
  }
}

function secondLook(files) {
  if (files.length === 0 || files.length > mostFiles) return false;
  console.error(`\n${files.join(', ')}: failed beside the others. Looked at again, alone, ${looks} times.`);
  const holds = files.every((file) => Array.from({ length: looks }).every(() => vitest([file])));
  const words = 'FAILED BESIDE THE OTHERS AND HELD ALONE';
  if (holds)
    console.error(`\n${files.map((file) => `${words}: ${file}`).join('\n')}\nRepair it: see its failure above.`);
  return holds;
}

let passed = vitest(['--reporter=default', `--reporter=${reporter}`], { SECOND_LOOK_FILE: found });
if (!passed) passed = secondLook(failedFiles());
rmSync(folder, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
