// Runs the contenders side by side: test by test, round by round, each round in another order, so that a slow minute
// of the machine hits them all. Saves after every measurement; prints the tables at the end. Started by bench/run.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { contenders, restart, stop, takesPart, versionOf } from './contenders.mjs';
import { assertControlsLive } from './controls.mjs';
import { record as recordHistory } from './history.mjs';
import { freshTests, measure, testNames } from './measure.mjs';
import { drawReport } from './picture.mjs';
import { sleep } from './processes.mjs';
import { renderReport } from './report.mjs';
import { isSmoke, resultFile, sizes } from './sizes.mjs';
import { judgeTargets } from './targets.mjs';

// Above this share of the machine in other hands a measurement is made once more, and the quieter one kept.
// A failed one is tried once more as well.
const noisyShare = 0.12;
const oneRound = new Set(['warm', ...freshTests]);
/** What a contender does the first time it compiles, or fills its tables for: the first of each is made and not counted. */
const warmedTests = new Set(['conn', 'resume', 'down', 'up', 'down-chunked', 'h2', 'down-h2']);
const notRepeated = new Set(['first', 'clone', 'push', 'push-check', 'stages', ...oneRound]);

const raw = {};
const { tests, chosen, missing, rounds, secs, note } = readOptions();
const progress = { done: 0, all: 0, began: performance.now() };
const versions = Object.fromEntries(chosen.map((contender) => [contender.name, versionOf(contender)]));
const machine = {
  cpu: os.cpus()[0].model.trim(),
  cores: os.cpus().length,
  memory_gib: Math.round(os.totalmem() / 1024 ** 3),
  kernel: os.release(),
  node: process.version,
  network: process.env.SALLYPORT_BENCH_NETWORK === 'own' ? 'its own' : 'shared',
  openssl: execFileSync('openssl', ['version'], { encoding: 'utf8' }).split(' (', 1)[0].trim(),
};

try {
  for (const test of tests) progress.all += chosen.filter((one) => takesPart(one, test)).length * roundsOf(test);
  for (const test of tests.filter((name) => freshTests.has(name))) await compareFresh(test);
  const steadyTests = tests.filter((name) => !freshTests.has(name));
  if (steadyTests.length) await compareSteady(steadyTests);
  const report = JSON.parse(fs.readFileSync(resultFile, 'utf8'));
  console.log(renderReport(report));
  fs.writeFileSync(resultFile.replace(/json$/, 'svg'), drawReport(report));
  demandNoFailure(report);
  if (note !== undefined) recordHistory(report, judgeTargets(report), note);
} catch (error) {
  refuse(error.message);
}

/** Targets are told and not enforced here; that there is a figure for each contender is. */
function demandNoFailure(report) {
  const failed = Object.entries(report.raw).flatMap(([test, byName]) =>
    Object.entries(byName).flatMap(([name, results]) =>
      results.filter(({ error, triedAgain }) => error && !triedAgain).map(({ error }) => `${test} ${name}: ${error}`),
    ),
  );
  if (failed.length) throw new Error(`there is no figure for ${failed.join('; ')}`);
}

function refuse(message) {
  console.error(`bench: ${message}`);
  process.exit(1);
}

function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: { only: text, missing: text, tests: text, rounds: text, secs: text, record: text },
  });
  const options = {
    tests: values.tests.split(','),
    chosen: contenders.filter(({ name }) => values.only.split(',').includes(name)),
    missing: (values.missing ?? '').split(',').filter(Boolean),
    rounds: Number(values.rounds),
    secs: Number(values.secs),
    note: values.record || undefined,
  };
  const unknown = options.tests.filter((test) => !testNames.includes(test));
  if (unknown.length) refuse(`unknown test ${unknown.join(', ')}; there are ${testNames.join(', ')}`);
  // squid's hosts file has 1,000 names and every round of `first` needs 30 new ones.
  if (!(options.rounds >= 1 && options.rounds <= 30)) refuse('--rounds is 1 to 30');
  if (!(options.secs > 0 && options.secs <= 60)) refuse('--secs is more than 0 and at most 60');
  return options;
}

/** One contender at a time, each just started: for what memory costs. */
async function compareFresh(test) {
  for (const contender of chosen.filter((one) => takesPart(one, test))) {
    restart(contender);
    // Idle is what stays when the work of starting is over; runtimes give its memory back after some seconds.
    await sleep(
      test === 'hold' ? (isSmoke ? sizes.idleMs : (contender.restMs ?? sizes.idleMs)) : Math.min(1000, sizes.idleMs),
    );
    await record(contender, test, 0);
    stop(contender);
  }
}

/** All of them up, warmed, and measured in turn. */
async function compareSteady(steadyTests) {
  const present = chosen.filter((contender) => steadyTests.some((test) => takesPart(contender, test)));
  for (const contender of present) restart(contender);
  for (const contender of present) {
    if (contender.name === 'sallyport') await assertControlsLive(contender);
    if (takesPart(contender, 'warm')) await record(contender, 'warm', 0);
  }
  for (const test of steadyTests) {
    if (warmedTests.has(test)) await warmFor(test, present);
    for (let round = 0; round < roundsOf(test); round++) {
      for (let i = 0; i < present.length; i++) {
        const contender = present[(i + round) % present.length];
        if (takesPart(contender, test)) await record(contender, test, round);
      }
    }
  }
  for (const contender of present) stop(contender);
}

async function warmFor(test, present) {
  for (const contender of present.filter((one) => takesPart(one, test))) {
    await measure(contender, test, { secs, round: 0, calmMs: 0 });
  }
}

/** One by one, what is left is told by how long the others took. */
function tell(contender, test, round, outcome) {
  if (test !== 'warm') progress.done++;
  const each = (performance.now() - progress.began) / Math.max(1, progress.done);
  const minutes = (each * (progress.all - progress.done)) / 60_000;
  const left = minutes < 1 ? 'less than a minute' : `about ${Math.round(minutes)} min`;
  const at = `[${progress.done}/${progress.all}, ${left} left]`;
  console.error(`${at} ${test} ${round + 1}/${roundsOf(test)} ${contender.name} ${outcome}`);
}

function roundsOf(test) {
  return oneRound.has(test) ? 1 : rounds;
}

async function record(contender, test, round) {
  const options = { secs, round, calmMs: sizes.calmMs ?? (rounds > 1 ? 15_000 : 3000) };
  raw[test] ??= {};
  raw[test][contender.name] ??= [];
  const kept = raw[test][contender.name];
  let result = await measure(contender, test, options);
  if (!isSmoke && !notRepeated.has(test) && (result.error || result.other_cpu_share > noisyShare)) {
    const again = await measure(contender, test, options);
    if (result.error) kept.push({ ...result, triedAgain: true }); // stays on record, whatever the second try says
    if (result.error || (!again.error && again.other_cpu_share < result.other_cpu_share)) result = again;
  }
  kept.push(result);
  tell(contender, test, round, result.error ?? 'done');
  save();
}

function save() {
  const median = {};
  for (const [test, byName] of Object.entries(raw)) {
    median[test] = {};
    for (const [name, results] of Object.entries(byName)) median[test][name] = medianOf(results);
  }
  const report = { when: new Date().toISOString(), machine, versions, missing, rounds, secs, median, raw };
  fs.mkdirSync(path.dirname(resultFile), { recursive: true });
  fs.writeFileSync(resultFile, `${JSON.stringify(report, null, 1)}\n`);
}

/** Figure by figure over the runs that worked; when none did, the first failure. */
function medianOf(results) {
  const good = results.filter((result) => !result.error);
  if (!good.length) return results[0];
  const median = { runs: good.length, failed: results.length - good.length };
  for (const [name, value] of Object.entries(good[0])) {
    if (typeof value !== 'number') continue;
    const sorted = good.map((result) => result[name]).sort((a, b) => a - b);
    median[name] = sorted[sorted.length >> 1];
  }
  return median;
}
