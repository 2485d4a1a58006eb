// HTTP/2: 32 streams on one connection with Node's client, whose own ceiling is low: compare CPU, not rates.
import http2 from 'node:http2';
import { keyArrived } from './contenders.mjs';
import { openTunnel } from './measure-agent.mjs';
import { cpuSecondsOf, sleep } from './processes.mjs';
import { sizes } from './sizes.mjs';

const authority = 'api.test:9445';
const streams = 32;

export async function measureHttp2(contender, pid, { secs }) {
  const socket = await openTunnel(contender, authority, ['h2', 'http/1.1']);
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

/** One body on one stream: the client is slower than any contender, so only CPU counts. */
export async function downloadHttp2(contender, pid) {
  const socket = await openTunnel(contender, authority, ['h2', 'http/1.1']);
  if (socket.alpnProtocol !== 'h2') {
    socket.destroy();
    return { error: 'no HTTP/2' };
  }
  const settings = { initialWindowSize: 1 << 24 };
  const session = http2.connect(`https://${authority}`, { createConnection: () => socket, settings });
  session.on('error', () => {});
  session.setLocalWindowSize(1 << 24);
  const before = cpuSecondsOf(pid);
  const start = performance.now();
  const stream = session.request({ ':path': '/big.bin', 'x-api-key': 'placeholder' });
  let bytes = 0;
  for await (const piece of stream) bytes += piece.length;
  const seconds = (performance.now() - start) / 1000;
  session.destroy();
  if (bytes !== sizes.bodyBytes) return { error: `${bytes} of ${sizes.bodyBytes} bytes came` };
  return { mb_s: bytes / 1e6 / seconds, cpu_s_per_gb: (cpuSecondsOf(pid) - before) / (bytes / 1e9) };
}
