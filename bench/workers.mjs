#!/usr/bin/env node
// What listen.workers brings: requests per second and CPU per request of a gateway in one process and with two workers,
// over plain HTTP on loopback, with identity, policy and journal on. Client and upstream share the machine, so on two cores
// the requests per second say little; the CPU per request is the gateway's own, of all its processes together.
// Both gateways are warm and take turns, and what is judged is the median of the ratios of the pairs.
// usage: node bench/workers.mjs [seconds per run, default 2] [--smoke]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildMain, callAdmin, startGateway } from './built.mjs';
import { judgeFigure } from './targets.mjs';

const smoke = process.argv.includes('--smoke');
const asked = process.argv.slice(2).find((word) => !word.startsWith('--'));
const seconds = Math.min(8, Number(asked ?? (smoke ? 0.3 : 2)));
const rounds = smoke ? 1 : 7;
const connections = 32;
/** V8 compiles what is called often, in each process anew: that is the start of a process and no cost of a request. */
const warmRequests = smoke ? 200 : 50_000;
const home = mkdtempSync(join(tmpdir(), 'sallyport-workers-'));

const upstream = createServer((_, response) => response.end('ok'));
upstream.keepAliveTimeout = 60_000;
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
console.log(
  `${availableParallelism()} cores, ${connections} connections, ${rounds} rounds of ${seconds} s each, in pairs`,
);
const gateways = [];
try {
  const main = buildMain(home);
  for (const workers of [1, 2]) gateways.push(await begin(main, workers));
  const ratios = [];
  const found = gateways.map(() => []);
  for (let round = 0; round < rounds; round++) {
    // Whatever else the machine does meanwhile is done to both.
    const pair = [];
    for (const [index, gateway] of gateways.entries()) {
      pair[index] = await measure(gateway);
      found[index].push(pair[index]);
    }
    ratios.push(pair[1].micros / pair[0].micros);
  }
  for (const [index, { workers }] of gateways.entries()) print(workers, found[index]);
  console.log(`each pair: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`);
  console.log(judgeFigure('CPU per request with two workers, to one process', median(ratios)));
} finally {
  for (const { gateway } of gateways) await gateway.end('SIGKILL');
  upstream.close();
  upstream.closeAllConnections();
  rmSync(home, { recursive: true, force: true });
}

async function begin(main, workers) {
  const state = join(home, `state-${workers}`);
  const config = join(home, `policy-${workers}.yaml`);
  writeFileSync(
    config,
    `version: 1
listen: { proxy: "127.0.0.1:0", workers: ${workers} }
allow: [{ host: far.example, plain_http: true, ports: [80] }]
limits: { requests_per_minute: 600000000, concurrent_requests: 10000 }
audit: { sandbox_bytes_per_day: 0 }
upstream: { resolve: { far.example: "127.0.0.1:${upstream.address().port}" } }
`,
  );
  const gateway = await startGateway(main, { HOME: home, SALLYPORT_HOME: state, SALLYPORT_CONFIG: config });
  await callAdmin(join(state, 'run', 'admin.sock'), 'POST', '/internal/containers', { container_ip: '127.0.0.1' });
  for (let done = 0; done < workers * warmRequests; ) done += (await drive(gateway.port, smoke ? 0.2 : 1)).done;
  return { workers, gateway, processes: [gateway.child.pid, ...childrenOf(gateway.child.pid)] };
}

/** CPU of each process of the gateway for one request, in microseconds. */
async function measure({ gateway, processes }) {
  const before = processes.map(cpuSeconds);
  const { done, refused } = await drive(gateway.port, seconds);
  const parts = processes.map((pid, index) => ((cpuSeconds(pid) - before[index]) * 1e6) / done);
  return { done, refused, parts, micros: parts.reduce((sum, one) => sum + one, 0) };
}

function print(workers, found) {
  const [first, ...others] = found[0].parts.map((_, index) => median(found.map(({ parts }) => parts[index])));
  const rate = median(found.map(({ done }) => done / seconds));
  const refused = found.reduce((sum, one) => sum + one.refused, 0);
  const own = others.length === 0 ? '' : `, ${first.toFixed(1)} of it in the first process`;
  console.log(
    `${workers} worker${workers === 1 ? ' ' : 's'}: ${Math.round(rate)} requests/s, ${median(found.map(({ micros }) => micros)).toFixed(0)} µs CPU/request${own}, ${refused} not served`,
  );
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Each connection asks again when it is answered. */
async function drive(port, forSeconds) {
  const end = performance.now() + forSeconds * 1000;
  const request = Buffer.from('GET http://far.example/ HTTP/1.1\r\nHost: far.example\r\n\r\n');
  let done = 0;
  let refused = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1');
      await new Promise((resolve, reject) => {
        let text = '';
        socket.on('error', reject);
        socket.on('connect', () => socket.write(request));
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1');
          const head = text.indexOf('\r\n\r\n');
          if (head < 0) return;
          const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
          if (text.length < head + 4 + length) return;
          if (text.startsWith('HTTP/1.1 200')) done++;
          else refused++;
          text = '';
          if (performance.now() < end) socket.write(request);
          else resolve();
        });
      });
      socket.destroy();
    }),
  );
  return { done, refused };
}

function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** Of the user and the kernel, in ticks of a hundredth of a second. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
