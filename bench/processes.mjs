// What /proc says about processes and the machine: CPU seconds and resident memory of a process tree, share of the
// machine that others use. Reads only; never signals anything.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const pageKib = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' })) / 1024;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function statOf(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const field = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // utime, stime and those of children that were waited for
    const ticks = Number(field[11]) + Number(field[12]) + Number(field[13]) + Number(field[14]);
    return { parent: Number(field[1]), cpuSeconds: ticks / ticksPerSecond, rssKib: Number(field[21]) * pageKib };
  } catch {
    return null; // ended meanwhile
  }
}

function treeOf(root) {
  if (!root) return [];
  const all = new Map();
  for (const name of fs.readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(name) : null;
    if (stat) all.set(Number(name), stat);
  }
  const found = [];
  const add = (pid) => {
    const stat = all.get(pid);
    if (!stat) return;
    found.push(stat);
    for (const [child, { parent }] of all) if (parent === pid) add(child);
  };
  add(root);
  return found;
}

export const cpuSecondsOf = (root) => treeOf(root).reduce((sum, stat) => sum + stat.cpuSeconds, 0);
export const rssKibOf = (root) => treeOf(root).reduce((sum, stat) => sum + stat.rssKib, 0);
export const isRunning = (pid) => fs.existsSync(`/proc/${pid}`);
export const ownCpuSeconds = () => statOf('self').cpuSeconds;

function machine() {
  const line = fs.readFileSync('/proc/stat', 'latin1').split('\n', 1)[0];
  const [user, nice, system, idle, iowait, irq, softirq, steal] = line.trim().split(/\s+/).slice(1).map(Number);
  return { idle: idle + iowait, busy: user + nice + system + irq + softirq, steal };
}

/** Waits until the machine is nearly idle, or at most that long. */
export async function waitForCalm(atMostMs) {
  const deadline = Date.now() + atMostMs;
  while (Date.now() < deadline) {
    const before = machine();
    await sleep(250);
    const after = machine();
    const busy = after.busy - before.busy;
    if (busy / Math.max(1, busy + after.idle - before.idle) < 0.15) return;
  }
}

/** Starts counting; the returned function tells which share of the machine went to none of the known processes. */
export function watchOthers(knownCpuSeconds) {
  const start = { at: Date.now(), known: knownCpuSeconds(), machine: machine() };
  return () => {
    const seconds = (Date.now() - start.at) / 1000;
    const now = machine();
    const others = (now.busy - start.machine.busy) / ticksPerSecond - (knownCpuSeconds() - start.known);
    return {
      other_cpu_share: Number(Math.max(0, others / seconds / os.cpus().length).toFixed(3)),
      steal: Number(((now.steal - start.machine.steal) / ticksPerSecond / seconds).toFixed(3)),
    };
  };
}
