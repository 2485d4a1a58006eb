#!/usr/bin/env node
// One sandbox asks as fast as it can, far over its limit; another makes 20 requests a second. Prints how long the quiet one
// waits alone and beside the noise, what became of the noise, and what it cost the gateway. Everything on loopback, each
// part in a process of its own, some 15 s in all. With --held the other sandbox makes no noise: a hundred requests of it
// wait for a person meanwhile, in front of somebody who watches and does not answer.
// usage: node bench/noisy-neighbour.mjs [seconds] [--unlimited | --held] [--smoke]
import { execFileSync, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { buildMain, callAdmin, startGateway } from './built.mjs';

const self = fileURLToPath(import.meta.url);
const smoke = process.argv.includes('--smoke');
const servedHost = 'api.test';
const askedHost = 'asks.test';
const heldRequests = 100;
const noisyConnections = 64;
/** The noise is bounded in number too. */
const maxNoise = 500_000;
const quietPerSecond = 20;

/** A kept-alive connection through a sandbox's own door; `next` makes one request and gives its status. */
async function openConnection(socketPath, caPath, host = servedHost) {
  const bare = connect(socketPath);
  await new Promise((resolve, reject) => bare.once('connect', resolve).once('error', reject));
  bare.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
  await new Promise((resolve, reject) => bare.once('data', resolve).once('error', reject));
  const tls = connectTls({ socket: bare, servername: host, ca: readFileSync(caPath) });
  await new Promise((resolve, reject) => tls.once('secureConnect', resolve).once('error', reject));
  let waiting = null;
  let text = '';
  tls.on('data', (chunk) => {
    text += chunk.toString('latin1');
    const head = text.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
    if (text.length < head + 4 + length) return;
    const status = Number(text.slice(9, 12));
    text = '';
    waiting?.(status);
  });
  tls.on('error', () => waiting?.(0));
  tls.on('close', () => waiting?.(0));
  return {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve;
        tls.write(`GET /small.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      }),
    close: () => bare.destroy(),
  };
}

if (process.env.NOISE !== undefined) {
  const { socketPath, caPath, ms } = JSON.parse(process.env.NOISE);
  const all = await Promise.all(Array.from({ length: noisyConnections }, () => openConnection(socketPath, caPath)));
  const statuses = new Map();
  const until = performance.now() + ms;
  let sent = 0;
  process.send('begun');
  const loop = async (one) => {
    while (performance.now() < until && sent++ < maxNoise) {
      const status = await one.next();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 0) return;
    }
  };
  await Promise.all(all.map(loop));
  for (const one of all) one.close();
  process.send([...statuses]);
  process.disconnect();
} else if (process.env.UPSTREAM !== undefined) {
  const { key, cert } = JSON.parse(process.env.UPSTREAM);
  const body = Buffer.alloc(1024, 'x');
  const server = createServer({ key, cert, keepAliveTimeout: 60_000 }, (_, response) => response.end(body));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit(0));
} else {
  await main();
}

async function main() {
  const asked = process.argv.slice(2).find((word) => !word.startsWith('--'));
  const seconds = Math.min(7, Number(asked ?? (smoke ? 1 : 5)));
  const limit = process.argv.includes('--unlimited') ? 2_000_000_000 : 600;
  const home = mkdtempSync(join(tmpdir(), 'noisy-neighbour-'));
  const children = [];
  try {
    const { caPath, port } = await startUpstream(home, children);
    const gateway = await openGateway(home, port, caPath, limit, children);
    const [quiet, other] = [await gateway.register('quiet'), await gateway.register('noisy')];
    await quietly(quiet, gateway.caPath, 1);
    const first = gateway.cpuMs();
    const alone = { times: await quietly(quiet, gateway.caPath, seconds), cpuMs: gateway.cpuMs() - first };
    const measured = process.argv.includes('--held') ? besideHeld : besideNoise;
    await measured({ gateway, quiet, other, seconds, alone, children });
  } finally {
    for (const child of children) child.kill();
    await pause(300);
    rmSync(home, { recursive: true, force: true });
  }
}

async function besideNoise({ gateway, quiet, other, seconds, alone, children }) {
  const before = gateway.cpuMs();
  const noise = fork(self, { env: noiseEnv(other, gateway.caPath, seconds) });
  children.push(noise);
  const told = [];
  noise.on('message', (message) => told.push(message));
  while (told.length === 0) await pause(10);
  const beside = await quietly(quiet, gateway.caPath, seconds);
  while (told.length < 2) await pause(10);
  reportNoise(alone.times, beside, new Map(told[1]), gateway.cpuMs() - before, seconds);
}

async function besideHeld({ gateway, quiet, other, seconds, alone }) {
  const watching = await gateway.watch();
  const waiting = [];
  for (let i = 0; i < heldRequests; i++) {
    const one = await openConnection(other, gateway.caPath, askedHost);
    // What it throws is caught by nobody, and so ends the bench.
    void one.next().then((status) => {
      if (!watching.destroyed) throw new Error(`a request that was to wait was answered ${status}`);
    });
    waiting.push(one);
  }
  while ((await gateway.heldRequests()) < heldRequests) await pause(50);
  const before = gateway.cpuMs();
  const beside = { times: await quietly(quiet, gateway.caPath, seconds), cpuMs: gateway.cpuMs() - before };
  if ((await gateway.heldRequests()) !== heldRequests) throw new Error('they did not all wait to the end');
  watching.destroy();
  for (const one of waiting) one.close();
  for (const [name, { times, cpuMs }] of Object.entries({
    'quiet, alone': alone,
    [`quiet, beside ${heldRequests} held`]: beside,
  })) {
    line(name, times);
    console.log(`${''.padEnd(22)} gateway ${(cpuMs / (seconds * 10)).toFixed(1)} % of a core`);
  }
}

function noiseEnv(socketPath, caPath, seconds) {
  return { ...process.env, NOISE: JSON.stringify({ socketPath, caPath, ms: seconds * 1000 + 500 }) };
}

async function startUpstream(home, children) {
  const [key, cert] = [join(home, 'key.pem'), join(home, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      `/CN=${servedHost}`,
      '-addext',
      `subjectAltName=DNS:${servedHost}`,
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  );
  const parts = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  const child = fork(self, { env: { ...process.env, UPSTREAM: JSON.stringify(parts) } });
  children.push(child);
  const port = await new Promise((resolve) => child.once('message', resolve));
  return { caPath: cert, port };
}

async function openGateway(home, port, ca, limit, children) {
  const config = join(home, 'sallyport.yaml');
  writeFileSync(
    config,
    `version: 1\nlisten: { proxy: "127.0.0.1:0" }\nallow: [{ host: ${servedHost} }, { host: ${askedHost}, ask: true }]\napprovals: { held: 200, held_per_sandbox: 200 }\nlimits: { requests_per_minute: ${limit}, burst: ${Math.min(limit, 600)} }\nupstream: { resolve: { ${askedHost}: "127.0.0.1:${port}", ${servedHost}: "127.0.0.1:${port}" }, ca: ${ca} }\n`,
  );
  const env = { HOME: home, SALLYPORT_HOME: join(home, 'state'), SALLYPORT_CONFIG: config };
  const { child } = await startGateway(buildMain(home), env);
  children.push(child);
  const adminSocket = join(home, 'state/run/admin.sock');
  return {
    caPath: join(home, 'state/ca/ca.pem'),
    cpuMs: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ');
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    async register(id) {
      const { grant } = await callAdmin(adminSocket, 'POST', '/internal/containers', { id, proof: ['socket'] });
      return grant.socket;
    },
    heldRequests: async () => (await callAdmin(adminSocket, 'GET', '/internal/questions')).questions.length,
    /** A person's terminal: as long as it reads, somebody watches. */
    watch: () =>
      new Promise((resolve, reject) => {
        const sent = ask({ socketPath: adminSocket, path: '/internal/watch', agent: false }, (answer) => {
          resolve(answer.on('error', () => {}).resume());
        });
        sent.on('error', reject);
        sent.end();
      }),
  };
}

/** Milliseconds that each request took; one that was not served throws. */
async function quietly(socketPath, caPath, seconds) {
  const one = await openConnection(socketPath, caPath);
  const times = [];
  for (let i = 0; i < seconds * quietPerSecond; i++) {
    const begun = performance.now();
    const status = await one.next();
    if (status !== 200) throw new Error(`the quiet sandbox was answered ${status}`);
    times.push(performance.now() - begun);
    await pause(1000 / quietPerSecond);
  }
  one.close();
  return times.sort((a, b) => a - b);
}

function line(name, times) {
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(2).padStart(8);
  console.log(`${name.padEnd(22)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms   ${times.length} served`);
}

function reportNoise(alone, beside, statuses, cpuMs, seconds) {
  line('quiet, alone', alone);
  line('quiet, beside noise', beside);
  const served = statuses.get(200) ?? 0;
  const refused = statuses.get(429) ?? 0;
  const other = [...statuses].filter(([status]) => status !== 200 && status !== 429);
  console.log(
    `noisy (${noisyConnections} connections)  ${served} served, ${refused} refused${other.length > 0 ? `, ${JSON.stringify(other)}` : ''}`,
  );
  console.log(`gateway                ${((cpuMs / (seconds * 1000 + 500)) * 100).toFixed(0)} % of a core meanwhile`);
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
