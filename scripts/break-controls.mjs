#!/usr/bin/env node
// Breaks the controls listed in scripts/controls.json, one at a time, in a copy of the tree, and demands that the test named
// for each goes red by a failed assertion. Never touches the working tree. docs/adr/045 says why.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A test that hangs because its control is gone gives up after its own time; this is for what hangs for ever. */
const longestMs = 10 * 60_000;
/** How tests say that something is not so: an assertion, something that never came, a counterexample. */
const assertion =
  /^(AssertionError|Error: (waited in vain|Test timed out|Property failed|promise (resolved|rejected) ))/m;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const usage = `npm run break-controls -- [--list] [--only NAME]… [--no-baseline]
  --list         the controls, and stop
  --only NAME    those whose name or threat is NAME
  --no-baseline  leave out the run of each test with its control in place`;

const { values } = parseArgs({
  options: {
    list: { type: 'boolean' },
    only: { type: 'string', multiple: true },
    'no-baseline': { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
const all = JSON.parse(readFileSync(join(root, 'scripts', 'controls.json'), 'utf8'));
const chosen = all.filter(({ name, threat }) => values.only?.some((one) => one === name || one === threat) ?? true);

if (values.help) console.log(usage);
else if (values.list) for (const { name, threat, file } of chosen) console.log(`${threat.padEnd(5)} ${name} (${file})`);
else process.exitCode = chosen.length > 0 && (await breakAll()) ? 0 : 1;
if (chosen.length === 0) console.error('no control has that name; --list has them');

async function breakAll() {
  const copy = copyTree();
  const stop = () => {
    rmSync(copy, { recursive: true, force: true });
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  try {
    const tests = values['no-baseline'] ? [] : [...new Set(chosen.flatMap((control) => control.tests))];
    const steps = [
      ...tests.map((test) => ({ name: test, what: 'in place', run: () => whole(copy, test) })),
      ...chosen.map((control) => ({ name: control.name, what: control.threat, run: () => broken(copy, control) })),
    ];
    const wrong = [];
    const startMs = performance.now();
    for (const [index, { name, what, run }] of steps.entries()) {
      const { ok, said } = await run();
      if (!ok) wrong.push(`${name}: ${said}`);
      const left = ((performance.now() - startMs) / (index + 1)) * (steps.length - index - 1);
      const progress = `${String(index + 1).padStart(String(steps.length).length)}/${steps.length}`;
      console.log(`${progress}  ${ok ? 'ok  ' : 'FAIL'}  ${what.padEnd(8)}  ${name}: ${said} (${minutes(left)} left)`);
    }
    if (wrong.length === 0) console.log(`\nEach of ${chosen.length} broken controls was seen by its own tests.`);
    else console.error(`\n${wrong.length} of ${steps.length} are not right:\n${wrong.join('\n')}`);
    return wrong.length === 0;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function minutes(ms) {
  return ms < 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** What is tracked or would be, and a link to what is installed. Open to others: some tests run as another user. */
function copyTree() {
  const copy = mkdtempSync(join(tmpdir(), 'sallyport-controls-'));
  chmodSync(copy, 0o755);
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (listed.status !== 0) throw new Error(`git cannot list the tree: ${listed.stderr}`);
  for (const path of new Set(listed.stdout.split('\0').filter(Boolean))) {
    if (!existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path), { verbatimSymlinks: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** A test that is red with its control in place says nothing about the control. */
async function whole(copy, test) {
  const { passed, failures, trouble } = await runTest(copy, test);
  return { ok: passed, said: passed ? 'green' : `red with the control in place: ${trouble ?? failures[0]}` };
}

/** Every test that is named for a control must see it gone. */
async function broken(copy, { file, text, instead, tests }) {
  const path = join(copy, file);
  const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const found = source.split(text).length - 1;
  if (found !== 1) return { ok: false, said: `its text is ${found} times in ${file}` };
  writeFileSync(
    path,
    source.replace(text, () => instead),
  );
  try {
    const seen = [];
    for (const test of tests) {
      const { passed, failures, trouble } = await runTest(copy, test);
      if (passed) return { ok: false, said: `${test} stays green` };
      const failure = failures.find((message) => assertion.test(message));
      if (failure === undefined) {
        return { ok: false, said: `${test} fails, but by no assertion: ${trouble ?? failures[0]}` };
      }
      seen.push(failure.split('\n', 1)[0].slice(0, 100));
    }
    return { ok: true, said: `red: ${seen.join(' | ')}` };
  } finally {
    writeFileSync(path, source);
  }
}

/** `trouble`: why it came to no verdict. */
async function runTest(copy, test) {
  const report = join(copy, 'break-controls.json');
  rmSync(report, { force: true });
  const words = ['run', test, '--bail=1', '--reporter=json', `--outputFile=${report}`];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  // A group of its own, so that whatever it has started ends with it.
  const child = spawn(process.execPath, [vitest, ...words], {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (output = (output + data).slice(-2000)));
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), longestMs);
  const status = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  if (!existsSync(report)) return { passed: false, failures: [], trouble: `no report: ${output.trim()}` };
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const ran = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failures = ran.filter((one) => one.status === 'failed').flatMap((one) => one.failureMessages);
  const outside = testResults.find((one) => one.status === 'failed' && one.message !== '');
  if (failures.length === 0 && status !== 0) {
    return { passed: false, failures, trouble: (outside?.message ?? output).trim().split('\n', 1)[0] };
  }
  return { passed: status === 0 && ran.some((one) => one.status === 'passed'), failures, trouble: undefined };
}
