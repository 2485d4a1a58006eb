#!/usr/bin/env node
// What listen.workers brings: requests per second and CPU per request of a gateway in one process and with two workers,
// over plain HTTP on loopback, with identity, policy and journal on. Client and upstream share the machine, so on two cores
// the requests per second say little; the CPU per request is the gateway's own, of all its processes together.
// usage: node bench/workers.mjs [seconds per run, default 5] [--smoke]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildMain, callAdmin, startGateway } from './built.mjs';
import { judgeFigure } from './targets.mjs';

const smoke = process.argv.includes('--smoke');
const asked = process.argv.slice(2).find((word) => !word.startsWith('--'));
const seconds = Math.min(8, Number(asked ?? (smoke ? 0.5 : 5)));
const connections = 32;
const home = mkdtempSync(join(tmpdir(), 'sallyport-workers-'));

const upstream = createServer((_, response) => response.end('ok'));
upstream.keepAliveTimeout = 60_000;
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
console.log(`${availableParallelism()} cores, ${connections} connections, ${seconds} s each`);
try {
  const main = buildMain(home);
  const [one, two] = [await measure(main, 1), await measure(main, 2)];
  console.log(judgeFigure('CPU per request with two workers, to one process', two / one));
} finally {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(home, { recursive: true, force: true });
}

async function measure(main, workers) {
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
  try {
    const { child, port } = gateway;
    await callAdmin(join(state, 'run', 'admin.sock'), 'POST', '/internal/containers', { container_ip: '127.0.0.1' });
    await drive(port, smoke ? 0.2 : 1);
    const processes = [child.pid, ...childrenOf(child.pid)];
    const before = processes.map(cpuSeconds);
    const { done, refused } = await drive(port, seconds);
    const used = processes.map((pid, index) => cpuSeconds(pid) - before[index]);
    const all = used.reduce((sum, one) => sum + one, 0);
    const parts = used.map((one) => one.toFixed(2)).join(' + ');
    console.log(
      `${workers} worker${workers === 1 ? ' ' : 's'}: ${Math.round(done / seconds)} requests/s, ${((all * 1e6) / done).toFixed(0)} µs CPU/request (${parts} s), ${refused} not served`,
    );
    return all / done;
  } finally {
    await gateway.end('SIGKILL');
  }
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
