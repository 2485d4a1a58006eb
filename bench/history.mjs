// What earlier runs came to: a line for each run that was recorded (bench/run --record NOTE), with the figure of every target.
// They are ratios wherever there is something to compare with, since those of two machines can be compared.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { historyFile } from './sizes.mjs';

/** The figures of the last recorded run before this report; null when there is none. */
export function lastRecorded({ when }) {
  return entries().findLast((entry) => entry.when < when)?.figures ?? null;
}

export function entries() {
  if (!fs.existsSync(historyFile)) return [];
  return fs
    .readFileSync(historyFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

export function record(report, judged, note) {
  const { when, machine, rounds } = report;
  const measured = judged.filter(({ now }) => now !== undefined);
  const figures = Object.fromEntries(measured.map(({ key, now }) => [key, Number(now.toPrecision(3))]));
  const entry = { when, note, commit: commitHere(), machine, rounds, figures };
  fs.appendFileSync(historyFile, `${JSON.stringify(entry)}\n`);
}

function commitHere() {
  try {
    const words = ['describe', '--always', '--dirty', '--exclude=*'];
    return execFileSync('git', words, { cwd: path.dirname(historyFile), encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return null;
  }
}
