// HTTP/2: 32 streams on one connection with Node's client, whose own ceiling is low: compare CPU, not rates.
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { keyArrived } from './contenders.mjs';
import { cpuSecondsOf, sleep } from './processes.mjs';
import { sizes, work } from './sizes.mjs';

const authority = 'api.test:9445';
const streams = 32;

export async function measureHttp2(contender, pid, { secs }) {
  const socket = await openTls(contender);
  if (socket.alpnProtocol !== 'h2') {
    socket.destroy();
    return { error: 'no HTTP/2' };
  }
  const session = http2.connect(`https://${authority}`, { createConnection: () => socket });
  session.on('error', () => {});
  const latencies = [];
  let bad = 0;
  let running = true;
  const ask = () =>
    new Promise((resolve) => {
      const start = performance.now();
      const stream = session.request({ ':path': '/small.json', 'x-api-key': 'placeholder' });
      stream.on('response', (head) => {
        if (head[':status'] !== 200 || (contender.injects && head['x-seen-key'] !== keyArrived)) bad++;
      });
      stream.resume();
      stream.on('end', () => latencies.push(performance.now() - start));
      stream.on('error', () => bad++);
      stream.on('close', resolve);
    });
  const loops = Array.from({ length: streams }, async () => {
    while (running && bad < 50) await ask();
  });
  await sleep(sizes.runUpSecs * 1000);
  latencies.length = 0;
  const start = { at: performance.now(), cpu: cpuSecondsOf(pid) };
  await sleep(secs * 1000);
  const answered = latencies.length;
  const seconds = (performance.now() - start.at) / 1000;
  const cpu = cpuSecondsOf(pid) - start.cpu;
  running = false;
  await Promise.race([Promise.all(loops), sleep(3000)]);
  session.destroy();
  latencies.sort((a, b) => a - b);
  if (!answered) return { error: 'no answer' };
  return {
    n: answered,
    rps: answered / seconds,
    p50_ms: latencies[answered >> 1],
    cpu_s_per_10k: (cpu / answered) * 1e4,
    bad,
  };
}

async function openTls(contender) {
  const [host, port] = (contender.proxy ?? contender.direct.h2).split(':');
  const raw = net.connect(Number(port), host);
  await new Promise((resolve, reject) => raw.once('connect', resolve).once('error', reject));
  if (contender.proxy) {
    raw.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await new Promise((resolve, reject) => raw.once('data', resolve).once('error', reject));
  }
  const ca = fs.readFileSync(path.join(work, 'all-ca.pem'));
  const socket = tls.connect({ socket: raw, servername: 'api.test', ca, ALPNProtocols: ['h2', 'http/1.1'] });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  return socket;
}
