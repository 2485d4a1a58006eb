#!/usr/bin/env node
// What a sandbox adds to the start of its command: from asking for it to the command's first instruction, beside the same
// command without a sandbox. With a gateway of its own, and with one that runs already.
// usage: node bench/start.mjs [runs] [--smoke]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildMain, startGateway } from './built.mjs';
import { judgeFigure } from './targets.mjs';

const smoke = process.argv.includes('--smoke');
const runs = Number(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? (smoke ? 1 : 15));
const ground = mkdtempSync(join(tmpdir(), 'sallyport-start-'));
const project = join(ground, 'project');
mkdirSync(project);
const env = { PATH: process.env.PATH, HOME: ground, SALLYPORT_HOME: join(ground, 'state') };
const clock = ['date', '+%s%N'];

/** Milliseconds from here to the moment that the command itself prints. */
function startOf(command) {
  const before = performance.timeOrigin + performance.now();
  const { stdout, stderr, status } = spawnSync(command[0], command.slice(1), { env, cwd: project, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${status} ${stderr}`);
  return Number(stdout) / 1e6 - before;
}

function measure(name, command) {
  startOf(command);
  const times = Array.from({ length: runs }, () => startOf(command)).sort((a, b) => a - b);
  const at = (part) => times[Math.min(runs - 1, Math.floor(runs * part))].toFixed(0).padStart(5);
  console.log(`${name.padEnd(34)} median ${at(0.5)} ms   quickest ${at(0)} ms   slowest ${at(1)} ms`);
  return times[runs >> 1] / 1000;
}

let gateway = null;
try {
  const main = buildMain(ground);
  const sallyport = (...args) => [process.execPath, main, 'run', ...args, '--', ...clock];
  const bare = measure('without a sandbox', clock);
  measure('Node alone', [process.execPath, '-e', 'console.log(String(Date.now()) + "000000")']);
  const alone = measure('sallyport run', sallyport());
  gateway = await startGateway(main, env);
  const joined = measure('sallyport run --gateway', sallyport('--gateway'));
  console.log(judgeFigure('run -- true adds, by itself', alone - bare));
  console.log(judgeFigure('run -- true adds, with a gateway that runs', joined - bare));
} finally {
  await gateway?.end();
  rmSync(ground, { recursive: true, force: true });
}
