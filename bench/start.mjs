#!/usr/bin/env node
// What a sandbox adds to its command: to the start, from asking for it to the command's first instruction, and to the whole of
// `run -- true`. By itself, when a gateway is started for it and ends with it; and with one that runs already, which it joins.
// As it is installed (node dist/main.cjs) and as it is run from a clone (./sallyport).
// usage: node bench/start.mjs [runs] [--smoke]
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildMain, startGateway } from './built.mjs';
import { judgeFigure } from './targets.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const smoke = process.argv.includes('--smoke');
const runs = Number(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? (smoke ? 1 : 15));
const ground = mkdtempSync(join(tmpdir(), 'sallyport-start-'));
const state = join(ground, 'state');
const project = join(ground, 'project');
mkdirSync(project);
// What is allowed without a configuration, and a port that nobody else has.
const config = join(ground, 'sallyport.yaml');
const presets = ['anthropic', 'openai', 'google', 'github', 'npm', 'pypi'];
writeFileSync(
  config,
  `version: 1\nlisten: { proxy: "127.0.0.1:0" }\nallow:\n${presets.map((name) => `  - preset: ${name}\n`).join('')}`,
);
const env = { PATH: process.env.PATH, HOME: ground, SALLYPORT_HOME: state, SALLYPORT_CONFIG: config };
const clock = ['date', '+%s%N'];

function run(command) {
  const { stdout, stderr, status } = spawnSync(command[0], command.slice(1), { env, cwd: project, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${status} ${stderr}`);
  return stdout;
}

/** Milliseconds from here to the moment that the command itself prints. */
function startOf(command) {
  const before = performance.timeOrigin + performance.now();
  return Number(run([...command, ...clock])) / 1e6 - before;
}

/** Milliseconds until all is over. */
function wholeOf(command) {
  const before = performance.now();
  run([...command, 'true']);
  return performance.now() - before;
}

/** CPU of programs that were started here and waited for, of theirs too: in milliseconds, to a hundredth of a second. */
function cpuOfChildren() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** Medians in seconds. What starts with `command`, or the bare one where there is none. */
function measure(name, command = []) {
  startOf(command);
  const starts = [];
  const wholes = [];
  const cpu = cpuOfChildren();
  for (let i = 0; i < runs; i++) {
    starts.push(startOf(command));
    wholes.push(wholeOf(command));
  }
  const spent = (cpuOfChildren() - cpu) / (2 * runs);
  const at = (times, part) =>
    times
      .sort((a, b) => a - b)
      [Math.min(runs - 1, Math.floor(runs * part))].toFixed(0)
      .padStart(5);
  const told = (times) => `median ${at(times, 0.5)} ms, quickest ${at(times, 0)}, slowest ${at(times, 1)}`;
  console.log(`${name.padEnd(36)} start: ${told(starts)}   whole: ${told(wholes)}   CPU ${spent.toFixed(0)} ms`);
  return { start: starts[runs >> 1] / 1000, whole: wholes[runs >> 1] / 1000 };
}

/** The clone's own way in, over the build that is measured. */
function layWrapper(main) {
  const clone = join(ground, 'clone');
  mkdirSync(join(clone, '.sallyport-build'), { recursive: true });
  for (const name of ['sallyport', 'src', 'scripts', 'config', 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(clone, name), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  cpSync(dirname(main), join(clone, 'dist'), { recursive: true, preserveTimestamps: true });
  writeFileSync(join(clone, '.sallyport-build', 'built'), '');
  return join(clone, 'sallyport');
}

let gateway = null;
try {
  const main = buildMain(ground);
  const wrapper = layWrapper(main);
  const installed = [process.execPath, main, 'run', '--'];
  const cloned = [wrapper, 'run', '--'];
  const bare = measure('without a sandbox');
  // Its start alone: what it starts is started as anybody would.
  const starter =
    'const [word, ...words] = process.argv.slice(1); require("node:child_process").spawnSync(word, words, { stdio: "inherit" })';
  measure('started by Node', [process.execPath, '-e', starter]);
  const alone = measure('sallyport run', installed);
  if (existsSync(join(state, 'run', 'admin.sock'))) throw new Error('the gateway of a run has outlived it');
  measure('./sallyport run', cloned);
  gateway = await startGateway(main, env);
  const joined = measure('sallyport run, joining a gateway', installed);
  measure('./sallyport run, joining a gateway', cloned);
  // A gateway of its own would have been the neighbour of that one.
  if (existsSync(join(state, 'gateways'))) throw new Error('a run has not joined the gateway that was there');
  console.log(judgeFigure('run -- true adds, by itself', alone.start - bare.start));
  console.log(judgeFigure('run -- true adds, with a gateway that runs', joined.start - bare.start));
  console.log(judgeFigure('the whole of run -- true adds, by itself', alone.whole - bare.whole));
  console.log(judgeFigure('the whole of run -- true adds, with a gateway that runs', joined.whole - bare.whole));
} finally {
  await gateway?.end();
  rmSync(ground, { recursive: true, force: true });
}
