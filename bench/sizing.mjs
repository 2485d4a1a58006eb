#!/usr/bin/env node
// The figures of docs/sizing.md: what a request, a connection, a stream and a sandbox cost a gateway in CPU and memory, alone,
// with two workers and with Redis. Generator, upstream and gateway share the machine, so size by the CPU per request, which is
// that of the gateway's processes alone, and not by the requests per second. 75 to 100 s on two cores.
// usage: node bench/sizing.mjs [--smoke]
import { availableParallelism, totalmem } from 'node:os';
import { events, openGround, pause, sandboxes } from './sizing-ground.mjs';
import { median, revocations } from './sizing-revocations.mjs';
import { judgeFigure } from './targets.mjs';

const smoke = process.argv.includes('--smoke');
/** A number of something, or with --smoke so few that nothing but the working of it shows. */
const some = (number) => (smoke ? Math.ceil(number / 100) : number);
const rest = (ms) => pause(some(ms));
const largeBytes = 100 * 1024;
const lanes = 32;
/** Requests: enough for the code to be compiled in each process, and for ticks of 10 ms not to matter. */
const amount = { warm: some(5000), count: some(6000) };
const registered = some(10_000);
const busy = some(1000);
const judged = [];
const wholeMs = smoke ? 120_000 : 300_000;

const rows = [];
const row = (...cells) => rows.push(cells);
const kib = (bytes) => `${(bytes / 1024).toFixed(bytes < 100 * 1024 ? 1 : 0)} KiB`;
const mib = (bytes) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
const cost = ({ rate, cpu }) => [`${Math.round(rate)}/s`, `${Math.round(cpu)} µs`];
const small = { what: 'requests', path: '/small.json' };
const one = { ...small, lanes: 1, warm: some(300), count: some(1000) };
const progress = (text) => process.stderr.write(`${text}\n`);

const tooLong = setTimeout(() => {
  progress('this takes too long: the machine has no time for it');
  // It exits whatever the end brings.
  void ground.end().finally(() => process.exit(1));
}, wholeMs).unref();
const ground = await openGround({ largeBytes });
const { load } = ground;
try {
  await alone();
  await withTwoWorkers();
  await memory();
  await manySandboxes();
  const redis = await ground.startRedis();
  if (redis === null) progress('there is no redis-server: figures with Redis are left out');
  else await withRedis(redis);
  print();
} finally {
  clearTimeout(tooLong);
  await ground.end();
}

/** Runs one job; CPU is counted from the end of its warming up. */
async function run(gateway, job, redis) {
  let before = null;
  const look = () => ({
    cpu: gateway.cpu(),
    first: gateway.cpuOfFirst(),
    journal: gateway.journalBytes(),
    at: performance.now(),
    ...(redis && { redisCpu: redis.cpu(), asked: redis.asked() }),
  });
  let after = null;
  let done = 0;
  let p50Ms = 0;
  await load(
    { ...gateway.target, lanes, ...amount, ...job },
    {
      begun: () => {
        before = look();
      },
      counted: (result) => {
        after = look();
        ({ done, p50Ms } = result);
      },
    },
  );
  const each = (name) => (after[name] - before[name]) / done;
  const seconds = (after.at - before.at) / 1000;
  return {
    rate: done / seconds,
    cpu: each('cpu'),
    first: each('first'),
    journal: each('journal'),
    p50Ms,
    redisCpu: each('redisCpu'),
    asked: (after.asked - before.asked) / seconds,
  };
}

async function alone() {
  progress('one process');
  const gateway = await ground.start('alone');
  await rest(1000);
  row('memory: gateway, idle', mib(gateway.memory()[0]), `${gateway.descriptors()[0]} descriptors`);
  const h1 = await run(gateway, small);
  row('GET of 1 KiB, HTTP/1.1 kept alive', ...cost(h1));
  const quick = await run(gateway, one);
  row('the same, one at a time: median', `${quick.p50Ms.toFixed(2)} ms`, '');
  row(
    'journal, per record',
    `${Math.round(h1.journal)} bytes`,
    `${((h1.journal * 1000) / 1e6).toFixed(2)} MB/s at 1,000 requests/s`,
  );
  row(
    'GET of 1 KiB, HTTP/2 both sides',
    ...cost(await run(gateway, { what: 'http2', connections: 4, warm: some(3000), count: some(3000) })),
  );
  row(
    'new connection, TLS handshake and one GET',
    ...cost(await run(gateway, { what: 'handshakes', lanes: 8, warm: some(300), count: some(600) })),
  );
  const large = await run(gateway, { ...small, path: '/large.json', lanes: 16, warm: some(1000), count: some(2000) });
  row('GET of 100 KiB, searched for credentials', ...cost(large));
  row('the same, for each MiB', '', `${Math.round(((large.cpu - h1.cpu) * 1024 * 1024) / largeBytes)} µs`);
  row('memory: gateway, after all this', mib(gateway.memory()[0]), '');
  await gateway.stop();
}

async function withTwoWorkers() {
  progress('two workers');
  const gateway = await ground.start('workers', { workers: 2 });
  await rest(1000);
  const [primary, ...workers] = gateway.memory();
  row('memory: first process, with 2 workers', mib(primary), '');
  row('memory: each worker, idle', mib(median(workers)), '');
  const both = await run(gateway, { ...small, warm: 2 * amount.warm });
  row('GET of 1 KiB, 2 workers', ...cost(both));
  row('of that, in the first process', '', `${Math.round(both.first)} µs`);
  row('the same, one at a time: median', `${(await run(gateway, one)).p50Ms.toFixed(2)} ms`, '');
  await gateway.stop();
}

async function memory() {
  await hold('idle connections', 'idle', some(1000));
  await hold('WebSockets', 'webSockets', some(500));
  const open = some(500);
  const streams = await hold('event streams', 'events', open, async (gateway) => {
    const [cpu, at] = [gateway.cpu(), performance.now()];
    await rest(3000);
    return (gateway.cpu() - cpu) / ((performance.now() - at) / events.everyMs) / open;
  });
  row(
    `an event of ${events.bytes} bytes (${open} streams, ${1000 / events.everyMs} a second each)`,
    '',
    `${Math.round(streams)} µs`,
  );
  await registrations();
}

/** The gateway is fresh but for some requests; what is not collected yet counts too. */
async function hold(name, way, count, meanwhile = async () => {}) {
  progress(name);
  const gateway = await ground.start(way);
  await run(gateway, { ...small, warm: some(500), count: some(1000) });
  await rest(500);
  const [before, files] = [gateway.memory()[0], gateway.descriptors()[0]];
  await load({ what: 'hold', way, count, ...gateway.target });
  await rest(1000);
  const [after, filesAfter] = [gateway.memory()[0], gateway.descriptors()[0]];
  row(
    `memory: each of ${count} ${name}`,
    kib((after - before) / count),
    `${((filesAfter - files) / count).toFixed(1)} descriptors`,
  );
  const found = await meanwhile(gateway);
  await load({ what: 'release' });
  await gateway.stop();
  return found;
}

/** So many per second, `lanes` at a time. */
async function register(gateway, name, count, lanes) {
  const begun = performance.now();
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < count; i = next++)
      await gateway.admin('POST', '', { id: `${name}-${i}`, proof: ['secret'] });
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return count / ((performance.now() - begun) / 1000);
}

async function registrations() {
  progress('registrations');
  const first = await ground.start('registry');
  await rest(1000);
  const before = first.memory()[0];
  const alone = await register(first, 'one', some(100), 1);
  row('registrations, one after another', `${Math.round(alone)}/s`, 'each on the disk');
  const many = await register(first, 'many', some(1000), 64);
  row('registrations, 64 at once, up to 1100', `${Math.round(many)}/s`, 'each on the disk');
  await first.stop();
  first.multiplyRegistered('one-0', registered);
  const again = await ground.start('again', { from: 'registry' });
  await rest(1000);
  const each = (again.memory()[0] - before) / registered;
  row(`memory: each of ${registered} registered sandboxes`, kib(each), 'after a restart');
  const late = await register(again, 'late', some(50), 1);
  row(`registrations, one after another, beside ${registered}`, `${Math.round(late)}/s`, 'each on the disk');
  const [cpu, at] = [again.cpu(), performance.now()];
  await rest(5000);
  const share = (again.cpu() - cpu) / ((performance.now() - at) * 10);
  row(`${registered} registered sandboxes that do nothing`, '', `${share.toFixed(1)} % of a core`);
  await again.stop();
  const shared = await ground.start('shared', { from: 'registry', workers: 2 });
  await rest(1000);
  const told = await register(shared, 'told', some(50), 1);
  row(`the same with 2 workers, which hear of each`, `${Math.round(told)}/s`, 'each on the disk');
  await shared.stop();
  judged.push(judgeFigure('registrations a second with two workers beside 10,000, to alone', told / alone));
  judged.push(judgeFigure('memory of a registered sandbox', each / 1024));
  judged.push(judgeFigure('registrations a second beside 10,000, to alone', late / alone));
}

/** Each with a connection of its own, all asking at once. */
async function manySandboxes() {
  progress(`${busy} sandboxes at work`);
  const gateway = await ground.start('many', { registered: busy });
  await rest(1000);
  const before = gateway.memory()[0];
  // Compiled by then, as in the measurement of a few.
  const result = await run(gateway, { ...small, lanes: busy, warm: some(8000), count: some(10_000) });
  row(`GET of 1 KiB, ${busy} sandboxes at once`, ...cost(result));
  row(`memory: each of ${busy} sandboxes at work`, kib((gateway.memory()[0] - before) / busy), 'all that has grown');
  await gateway.stop();
}

async function withRedis(redis) {
  progress('Redis');
  const a = await ground.start('redis-a', { store: redis.url });
  const b = await ground.start('redis-b', { store: redis.url, ca: a.caFolder });
  await rest(1000);
  const [quiet, quietCpu] = [redis.asked(), redis.cpu()];
  await rest(2000);
  row(
    'Redis, two gateways, no traffic',
    `${Math.round((redis.asked() - quiet) / 2)} scripts/s`,
    `${((redis.cpu() - quietCpu) / 20_000).toFixed(1)} % of a core`,
  );
  const result = await run(a, small, redis);
  row('GET of 1 KiB, limits in Redis', ...cost(result));
  row('the same, one at a time: median', `${(await run(a, one)).p50Ms.toFixed(2)} ms`, '');
  row('Redis meanwhile, per request', `${Math.round(result.asked)} scripts/s`, `${Math.round(result.redisCpu)} µs`);
  const asks = some(2 * sandboxes);
  let before = 0;
  const begun = () => {
    before = redis.asked();
  };
  const seldom = await load({ ...a.target, what: 'seldom', count: asks, everyMs: some(80) }, { begun });
  const each = (redis.asked() - before) / asks;
  row(
    'a sandbox that asks once in 2.5 s, limits in Redis: median',
    `${seldom.p50Ms.toFixed(2)} ms`,
    `${each.toFixed(1)} scripts`,
  );
  const count = some(1000);
  const [bytes, keys] = [redis.memory(), redis.keys()];
  row(
    'registrations, one after another, Redis',
    `${Math.round(await register(a, 'one', some(100), 1))}/s`,
    'known to both gateways',
  );
  row(
    'registrations, 64 at once, Redis',
    `${Math.round(await register(a, 'many', count - some(100), 64))}/s`,
    'known to both gateways',
  );
  row(
    'Redis memory, per registered sandbox',
    kib((redis.memory() - bytes) / count),
    `${((redis.keys() - keys) / count).toFixed(1)} keys`,
  );
  const [held, confirmed] = await revocations(a, b, some(50));
  row('a revocation holds at another gateway: median of 50', `${held.toFixed(1)} ms`, '');
  row('a revocation is confirmed to who asked: median of 50', `${confirmed.toFixed(1)} ms`, '');
  await Promise.all([a.stop(), b.stop()]);
}

function print() {
  const head = ['measured', 'figure', 'gateway CPU each, or more'];
  const lines = [head, ...rows].map((cells) => cells.map(String));
  const widths = head.map((_, i) => Math.max(...lines.map((cells) => cells[i].length)));
  const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const cores = availableParallelism();
  console.log(
    `Node ${process.version}, ${cores} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${sandboxes} sandboxes, ${lanes} at once\n`,
  );
  console.log([line(lines[0]), line(widths.map((width) => '-'.repeat(width))), ...lines.slice(1).map(line)].join('\n'));
  console.log(['', ...judged].join('\n'));
}
