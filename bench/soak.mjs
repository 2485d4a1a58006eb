#!/usr/bin/env node
// An hour's worth of mixed work of ten agents, as fast as the machine does it: does memory stay flat, are all handles given
// back, does every request go as it should, is every one in the journal? Everything on loopback, in processes of its own.
// usage: node bench/soak.mjs [--minutes N] [--json] [--smoke]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildMain, callAdmin, startGateway } from './built.mjs';
import * as agents from './soak/agents.mjs';
import { gitLogin, hosts, startUpstreams } from './soak/upstreams.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes ?? (values.smoke ? 1 : 60));
/** Growth of the last third over the middle one that is more than noise. */
const maxGrowthMiB = 24;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const home = mkdtempSync(join(tmpdir(), 'sallyport-soak-'));
const state = join(home, 'state');
const config = join(home, 'sallyport.yaml');
const done = {};
/** Requests that are in the journal one by one, those of git apart: how many a clone makes is git's business. */
let requests = 0;
const count = (piece) => {
  requests++;
  return piece();
};

const upstreams = await startUpstreams(home);
writeConfig(0);
let main = '';
let gateway = null;
try {
  main = buildMain(home);
  const started = await startGateway(main, { HOME: home, SALLYPORT_HOME: state, SALLYPORT_CONFIG: config });
  const { port } = started;
  gateway = started.child;
  await admin('POST', '/internal/containers', { id: 'agents', container_ip: '127.0.0.1', repos: ['acme/*'] });
  await admin('PUT', '/internal/credentials/far', 'the-first-value-of-far');
  await admin('PUT', '/internal/credentials/forge', gitLogin.split(':')[1]);
  const all = { door: { port }, caPath: join(state, 'ca/ca.pem'), folder: home };
  const began = performance.now();
  // Warm: what is loaded once and kept is loaded.
  await minute(all, 0);
  await settled();
  const start = sample();
  const samples = [];
  for (let i = 1; i <= minutes; i++) {
    await minute(all, i);
    samples.push(sample());
    if (!values.json && i % 10 === 0) console.error(`${i} of ${minutes} minutes' worth`);
  }
  await settled(start.files);
  const end = sample();
  const seconds = (performance.now() - began) / 1000;
  await started.end();
  report({ minutes, seconds, start, end, samples, done, ...growthOf(samples), ...journal() });
} finally {
  gateway?.kill('SIGKILL');
  upstreams.close();
  rmSync(home, { recursive: true, force: true });
}

/** What ten agents do in a minute: 60 calls, 10 streams, and what else there is. */
async function minute(all, number) {
  const work = [
    ['calls, kept connection', 30, () => agents.callKept(all, 30, count)],
    ...Array.from({ length: 5 }, () => ['calls, fresh connection', 3, () => eachFresh(all, 3)]),
    ['calls over HTTP/2', 15, () => agents.callHttp2(all, 15, count)],
    ...Array.from({ length: 10 }, () => ['event streams', 1, () => agents.stream(all, count)]),
    ...Array.from({ length: 2 }, () => ['WebSockets', 1, () => agents.talk(all, count)]),
    ['uploads of 4 MiB', 1, () => agents.send(all, count)],
    ['downloads of 4 MiB', 1, () => agents.download(all, count)],
    ['refused', 10, () => agents.callRefused(all, 10, count)],
    ['clients that go away', 1, () => agents.abort(all, '/download', count)],
    ['clients that go away', 1, () => agents.abort(all, '/never', count)],
    number % 2 === 0
      ? ['clones', 1, () => agents.cloneAndPush(all, null)]
      : ['clones with a push', 1, () => agents.cloneAndPush(all, `sandbox/${number}`)],
    ...Array.from({ length: 2 }, (_, i) => [
      'sandboxes that come and go',
      1,
      () => comeAndGo(all, `guest-${number}-${i}`),
    ]),
    ['reloads', 1, () => reload(number)],
    ['credentials set', 1, () => admin('PUT', '/internal/credentials/far', `value-${number}-of-far-0123456789`)],
  ];
  await Promise.all(
    work.map(async ([what, times, piece]) => {
      await piece();
      done[what] = (done[what] ?? 0) + times;
    }),
  );
}

async function eachFresh(all, times) {
  for (let i = 0; i < times; i++) await agents.callKept(all, 1, count);
}

/** By a private socket: a door of its own that opens and closes. */
async function comeAndGo(all, id) {
  const { grant } = await admin('POST', '/internal/containers', { id, proof: ['socket'] });
  await agents.callKept({ ...all, door: { path: grant.socket } }, 2, count);
  await admin('DELETE', `/internal/containers/${id}`);
}

async function reload(number) {
  writeConfig(number);
  gateway.kill('SIGHUP');
}

function writeConfig(number) {
  const document = {
    version: 1,
    listen: { proxy: '127.0.0.1:0' },
    allow: [
      { host: hosts.api, methods: ['GET', 'POST'] },
      { host: hosts.socket },
      { host: hosts.git },
      // Something that changes with each reload.
      { host: `v${number}.test` },
    ],
    git: { hosts: [hosts.git] },
    credentials: {
      far: { hosts: [hosts.api], inject: { header: 'x-api-key' } },
      forge: { hosts: [hosts.git], inject: { basic: { username: 'robot' } } },
    },
    limits: { requests_per_minute: 1_000_000, burst: 1_000_000, connections_per_second: 0, pushes_per_minute: 0 },
    audit: { sandbox_bytes_per_day: 0 },
    upstream: { resolve: upstreams.addresses, ca: upstreams.caPath },
  };
  writeFileSync(config, JSON.stringify(document));
}

function admin(method, path, body) {
  return callAdmin(join(state, 'run/admin.sock'), method, path, body);
}

function sample() {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'latin1');
  return {
    rssMiB: Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]) / 1024,
    files: readdirSync(`/proc/${gateway.pid}/fd`).length,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)[1]),
  };
}

/** Until connections that nobody uses are closed; at most a while. A reload closes those to upstreams that are kept. */
async function settled(files = 0) {
  writeConfig(-1);
  gateway.kill('SIGHUP');
  for (let i = 0; i < 100; i++) {
    await pause(50);
    const open = /^sallyport_open_connections (\d+)/m.exec(await admin('GET', '/internal/metrics'));
    if (open?.[1] === '0' && (files === 0 || sample().files <= files)) return;
  }
}

function growthOf(samples) {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const median = (list) => list.map(({ rssMiB }) => rssMiB).sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const middle = median(samples.slice(-2 * third, -third).concat(samples.length < 2 ? samples : []));
  const last = median(samples.slice(-third));
  return {
    middleMiB: middle,
    lastMiB: last,
    growthMiB: last - middle,
    maxMiB: Math.max(...samples.map(({ rssMiB }) => rssMiB)),
  };
}

function journal() {
  const directory = join(state, 'journal');
  const lines = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').filter(Boolean))
    .map((line) => JSON.parse(line));
  const records = lines.filter(({ host }) => host === hosts.api || host === hosts.socket).length;
  const gitRecords = lines.filter(({ host }) => host === hosts.git).length;
  return { requests, records, gitRecords, verified: verifies() };
}

function verifies() {
  const env = { PATH: process.env.PATH, HOME: home, SALLYPORT_HOME: state, SALLYPORT_CONFIG: config };
  return JSON.parse(execFileSync(process.execPath, [main, 'audit', 'verify', '--json'], { env }).toString()).ok;
}

function report(found) {
  const { start, end, growthMiB, samples, done: pieces, ...rest } = found;
  const faults = [
    ...(growthMiB > maxGrowthMiB ? [`memory has grown by ${growthMiB.toFixed(1)} MiB in the last third`] : []),
    ...(end.files > start.files ? [`${end.files - start.files} files are still open`] : []),
    ...(rest.requests !== rest.records ? [`${rest.requests} requests, ${rest.records} records`] : []),
    ...(rest.verified ? [] : ['the journal does not verify']),
  ];
  if (values.json) console.log(JSON.stringify({ ...found, samples: samples.length, faults }));
  else {
    const mib = (number) => `${number.toFixed(1)} MiB`;
    console.log(`${rest.minutes} minutes' worth of ten agents in ${rest.seconds.toFixed(0)} s\n`);
    for (const [what, times] of Object.entries(pieces))
      console.log(`  ${what.padEnd(28)} ${String(times).padStart(6)}`);
    console.log(`\n  ${'resident, after warm-up'.padEnd(28)} ${mib(start.rssMiB)}`);
    console.log(`  ${'resident, middle third'.padEnd(28)} ${mib(rest.middleMiB)}`);
    console.log(`  ${'resident, last third'.padEnd(28)} ${mib(rest.lastMiB)}  (most ever ${mib(rest.maxMiB)})`);
    console.log(
      `  ${'open files'.padEnd(28)} ${start.files} before, ${end.files} after (most ${Math.max(...samples.map(({ files }) => files))})`,
    );
    console.log(`  ${'threads'.padEnd(28)} ${start.threads} before, ${end.threads} after`);
    console.log(
      `  ${'records in the journal'.padEnd(28)} ${rest.records} for ${rest.requests} requests, and ${rest.gitRecords} of git; verified: ${rest.verified}`,
    );
    console.log(
      faults.length === 0
        ? '\nflat: nothing grew, nothing was left, nothing was lost'
        : `\nNOT fine: ${faults.join('; ')}`,
    );
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}
