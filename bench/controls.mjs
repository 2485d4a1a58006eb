// Before Sallyport is measured: are identity, policy, injection and journal really on? Asks the running process.
// A gateway that has a control switched off is not measured at all.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { keyArrived } from './contenders.mjs';
import { sleep } from './processes.mjs';
import { work } from './sizes.mjs';

export async function assertControlsLive(contender) {
  const journal = path.join(work, 'sallyport-home', 'journal');
  const before = bytesIn(journal);

  const allowed = await ask(contender, '127.0.0.1', 'api.test:9443');
  if (allowed.status !== 200) throw new Error(`the registered sandbox got ${allowed.status}: ${allowed.text}`);
  if (!allowed.text.includes(`X-Seen-Key: ${keyArrived}`)) throw new Error('injection is off: the upstream saw no key');

  const stranger = await ask(contender, '127.0.0.2', 'api.test:9443');
  if (!isRefusal(stranger.status)) throw new Error(`identity is off: an unregistered address got ${stranger.status}`);

  const unlisted = await ask(contender, '127.0.0.1', 'unlisted.test:9443');
  if (!isRefusal(unlisted.status)) throw new Error(`policy is off: a host that no rule names got ${unlisted.status}`);

  for (let tries = 0; bytesIn(journal) <= before; tries++) {
    if (tries === 20) throw new Error(`the journal is off: nothing was written to ${journal}`);
    await sleep(100);
  }
}

const isRefusal = (status) => status === 403 || status === 407;

function bytesIn(directory) {
  try {
    return fs.readdirSync(directory).reduce((sum, name) => sum + fs.statSync(path.join(directory, name)).size, 0);
  } catch {
    return 0;
  }
}

/** One GET through the door from that source address; a refusal may come to CONNECT or inside the tunnel. */
async function ask(contender, localAddress, authority) {
  const [host, port] = contender.proxy.split(':');
  const raw = net.connect({ host, port: Number(port), localAddress });
  raw.setTimeout(10_000, () => raw.destroy(new Error(`no answer from ${contender.name} in 10 s`)));
  raw.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const opened = await answerOn(raw);
  if (opened.status !== 200) {
    raw.destroy();
    return opened;
  }
  const ca = fs.readFileSync(path.join(work, 'all-ca.pem'));
  const socket = tls.connect({ socket: raw, servername: authority.split(':')[0], ca });
  socket.write(`GET /small.json HTTP/1.1\r\nHost: ${authority}\r\nx-api-key: placeholder\r\n\r\n`);
  const answer = await answerOn(socket);
  socket.destroy();
  raw.destroy();
  return answer;
}

function answerOn(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (piece) => {
      text += piece.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      socket.removeListener('data', onData);
      socket.removeListener('error', reject);
      socket.on('error', () => {});
      resolve({ status: Number(text.slice(9, 12)), text: text.slice(0, 600) });
    };
    socket.on('data', onData);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed before an answer')));
  });
}
