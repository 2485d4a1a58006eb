// What an agent does, mixed: it sends its conversation (100 KB of JSON and more with every turn), reads an answer of a few hundred
// events, and asks small things meanwhile. Several agents at once, each on a tunnel for the model and one for the rest.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { keyArrived } from './contenders.mjs';
import { cpuSecondsOf, sleep } from './processes.mjs';
import { sizes, work } from './sizes.mjs';

const model = 'sink.test:9444';
const others = 'api.test:9443';
const firstBytes = 100_000;
const moreBytes = 5_000;
const pollsPerTurn = 10;
const key = 'x-api-key: placeholder\r\n';
const lastChunk = '\r\n0\r\n\r\n';

export async function measureAgents(contender, pid, { secs }) {
  const turns = [];
  let isRunning = true;
  const agents = await Promise.all(
    Array.from({ length: sizes.agents }, async () => ({
      model: await openTunnel(contender, model),
      others: await openTunnel(contender, others),
    })),
  );
  const loops = agents.map(async (agent) => {
    for (let turn = 0; isRunning; turn++) {
      const began = performance.now();
      await Promise.all([askModel(agent.model, firstBytes + turn * moreBytes, contender), poll(agent.others)]);
      turns.push(performance.now() - began);
    }
  });
  try {
    await sleep(sizes.runUpSecs * 1000);
    turns.length = 0;
    const before = cpuSecondsOf(pid);
    // A turn takes as long as its events: too few would come to an end in a short time.
    for (let waited = 0; waited < secs * 2 || turns.length === 0; waited += 0.1) {
      if (waited > 60) throw new Error('no turn came to its end');
      await Promise.race([sleep(100), Promise.all(loops)]);
    }
    const [count, cpu] = [turns.length, cpuSecondsOf(pid) - before];
    turns.sort((a, b) => a - b);
    return { n: count, turn_p50_ms: turns[count >> 1], cpu_ms_per_turn: (cpu / count) * 1000 };
  } finally {
    isRunning = false;
    await Promise.race([Promise.allSettled(loops), sleep(10_000)]);
    for (const agent of agents) for (const socket of Object.values(agent)) socket.destroy();
  }
}

function askModel(socket, bytes, contender) {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'word '.repeat(bytes / 5) }] });
  const head = `POST /sse?n=${sizes.agentEvents}&gap=1 HTTP/1.1\r\nHost: ${model}\r\n${key}Content-Type: application/json\r\n`;
  return ask(socket, `${head}Content-Length: ${body.length}\r\n\r\n${body}`, (text) => {
    if (!text.endsWith(lastChunk)) return false;
    if (contender.injects && !text.includes(keyArrived)) throw new Error('the upstream saw no key');
    if (text.split('data: ').length - 1 !== sizes.agentEvents) throw new Error('events are missing');
    return true;
  });
}

async function poll(socket) {
  for (let i = 0; i < pollsPerTurn; i++) {
    await ask(socket, `GET /small.json HTTP/1.1\r\nHost: ${others}\r\n${key}\r\n`, (text) => {
      const head = text.indexOf('\r\n\r\n');
      return head > 0 && text.length >= head + 4 + Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 1e9);
    });
  }
}

function ask(socket, request, isWhole) {
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (error) => {
      socket.off('data', onData).off('close', onClose);
      if (error) reject(error);
      else resolve();
    };
    const onClose = () => settle(new Error('the connection ended'));
    const onData = (piece) => {
      text += piece.toString('latin1');
      try {
        if (text.length > 12 && !text.startsWith('HTTP/1.1 200')) throw new Error(text.slice(0, 200));
        if (isWhole(text)) settle();
      } catch (error) {
        settle(error);
      }
    };
    socket.on('data', onData).on('close', onClose);
    socket.write(request);
  });
}

export async function openTunnel(contender, authority, protocols = ['http/1.1']) {
  const direct = { [model]: contender.direct?.sink, [others]: contender.direct?.api };
  const [host, port] = (contender.proxy ?? direct[authority] ?? contender.direct.h2).split(':');
  const raw = net.connect(Number(port), host);
  await new Promise((resolve, reject) => raw.once('connect', resolve).once('error', reject));
  if (contender.proxy) {
    raw.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await new Promise((resolve, reject) => raw.once('data', resolve).once('error', reject));
  }
  const ca = fs.readFileSync(path.join(work, 'all-ca.pem'));
  const servername = authority.split(':')[0];
  const socket = tls.connect({ socket: raw, servername, ca, ALPNProtocols: protocols });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  return socket.on('error', () => {}).on('close', () => raw.destroy());
}
