// How much of everything is measured, in a real run and in a smoke run (SALLYPORT_BENCH_WORK is its folder), which shows that
// a measurement works and nothing else. What lies on disk for it is made by prepare.sh.
import path from 'node:path';

const mebibyte = 1024 ** 2;
const smokeFolder = process.env.SALLYPORT_BENCH_WORK;

export const isSmoke = Boolean(smokeFolder);
export const work = smokeFolder || path.join(import.meta.dirname, 'work');
export const resultFile = path.join(smokeFolder || path.join(import.meta.dirname, 'results'), 'latest.json');

export const historyFile = path.join(smokeFolder || import.meta.dirname, 'history.jsonl');

export const sizes = isSmoke
  ? {
      bodyBytes: mebibyte,
      bodies: 1,
      gibBytes: 4 * mebibyte,
      names: 3,
      tunnels: 20,
      events: 10,
      warmSecs: 0.2,
      warmRequests: 0,
      runUpSecs: 0.05,
      pushes: 1,
      sandboxes: 20,
      agents: 2,
      agentEvents: 10,
      idleMs: 100,
      calmMs: 0,
    }
  : {
      bodyBytes: 256 * mebibyte,
      bodies: 3,
      gibBytes: 1024 * mebibyte,
      names: 30,
      tunnels: 1000,
      events: 200,
      warmSecs: 2,
      warmRequests: 20_000,
      runUpSecs: 0.7,
      pushes: 10,
      sandboxes: 1000,
      agents: 8,
      agentEvents: 300,
      idleMs: 12_000,
      calmMs: null,
    };
