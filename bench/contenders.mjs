// Who is measured, where it listens and which tests make no sense for it. How each is started is in peers/.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isSmoke, work } from './sizes.mjs';

const bench = import.meta.dirname;
/** What the upstream says when the injected key came. */
export const keyArrived = 'key-arrived';

const bulk = ['down', 'up', 'sse', 'down-chunked', 'agent', 'clone', 'push'];
/** What only a gateway with sandboxes does, or what says something of one alone. */
const gateway = ['gib-down', 'gib-up', 'stages', 'sandboxes'];
const http2 = ['h2', 'down-h2'];

/** `proxy`: CONNECT; `direct`: plain TLS to that address. `only` or `skip`: tests it takes part in. */
export const contenders = [
  {
    name: 'direct',
    direct: { api: '127.0.0.1:9443', sink: '127.0.0.1:9444', h2: '127.0.0.1:9445' },
    injects: false,
    skip: ['hold', 'first', 'push-check', ...gateway], // a small push is always measured beside the direct one
  },
  {
    name: 'nginx',
    direct: { api: '127.0.0.1:8110', sink: '127.0.0.1:8111', h2: '127.0.0.1:8115' },
    injects: true,
    skip: ['first', 'websocket', ...gateway],
    version: ['nginx', '-v'],
  },
  {
    name: 'squid',
    proxy: '127.0.0.1:8102',
    injects: true,
    skip: [...http2, 'websocket', ...gateway],
    version: ['squid', '-v'],
  },
  {
    name: 'goproxy',
    proxy: '127.0.0.1:8103',
    injects: true,
    skip: [...http2, 'websocket', ...gateway],
    version: ['go', 'version'],
  },
  // Without streaming mitmproxy holds a body whole: 256 MiB do not finish in a minute, and events come at the end.
  {
    name: 'mitmproxy',
    proxy: '127.0.0.1:8101',
    injects: true,
    skip: [...bulk, ...http2, 'websocket', ...gateway],
    version: ['mitmdump', '--version'],
  },
  { name: 'mitmproxy-stream', proxy: '127.0.0.1:8114', injects: true, only: bulk },
  // One certificate has all names: none is ever new to it.
  { name: 'floor', proxy: '127.0.0.1:8121', injects: true, skip: ['first', ...http2, ...gateway] },
  // What its start took it gives back half a minute later (src/kit/process/give-back-memory.ts).
  { name: 'sallyport', proxy: '127.0.0.1:8120', injects: true, judgesPushes: true, skip: [], restMs: 60_000 },
];

/** A smoke run shows of another's proxy that it can be started and measured, and no more. */
const smokeOfPeers = ['warm', 'small64'];
const notInSmoke = { floor: ['clone', 'push-check'] };
const ours = ['sallyport', 'floor', 'direct'];

export function takesPart(contender, test) {
  if (isSmoke && !ours.includes(contender.name) && !smokeOfPeers.includes(test)) return false;
  if (isSmoke && notInSmoke[contender.name]?.includes(test)) return false;
  return contender.only ? contender.only.includes(test) : !contender.skip.includes(test);
}

/** What is measured, in its own words; nginx says it on standard error. */
export function versionOf({ version }) {
  if (!version) return null;
  const { stdout, stderr } = spawnSync(version[0], version.slice(1), { encoding: 'utf8', timeout: 20_000 });
  return `${stdout}${stderr}`.trim().split('\n', 1)[0];
}

/** The root of a started process tree; 0 when there is none, as for `direct`. */
export function pidOf(name) {
  try {
    return Number(fs.readFileSync(path.join(work, `${name}.pid`), 'utf8').split(' ', 1)[0]);
  } catch {
    return 0;
  }
}

/** Starts it afresh: a process of that name that runs already is stopped first. */
export function restart(contender) {
  if (contender.name !== 'direct') command('start', contender);
}

export function stop(contender) {
  if (contender.name !== 'direct') command('stop', contender);
}

function command(action, contender) {
  const script = path.join(bench, 'contender');
  const result = spawnSync(script, [action, contender.name], { encoding: 'utf8', timeout: 60_000 });
  if (result.status !== 0) throw new Error(`${contender.name} ${action}: ${result.stderr || result.error}`);
}
