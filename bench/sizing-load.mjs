// The load generator of sizing.mjs, a process of its own. Each sandbox is an address of loopback; every request goes through
// the gateway's proxy door, with TLS. Told what to do over the channel, one job at a time; every job is bounded in number.
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const maxWarmMs = 20_000;
const maxCountMs = 5000;
const key = 'x-api-key: placeholder\r\n';
const hosts = { h1: 'api.test', h2: 'h2.test' };
const held = [];

async function open({ port, ca, sandboxes }, index, protocol = 'h1') {
  const host = hosts[protocol];
  const of = index % sandboxes;
  const localAddress = `127.0.${1 + Math.floor(of / 250)}.${1 + (of % 250)}`;
  const bare = connect({ port, host: '127.0.0.1', localAddress });
  await arrival(bare, 'connect');
  bare.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
  const answer = await arrival(bare, 'data');
  if (!answer.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`CONNECT: ${answer}`);
  const ALPNProtocols = [protocol === 'h2' ? 'h2' : 'http/1.1'];
  const socket = connectTls({ socket: bare, servername: host, ca, ALPNProtocols });
  await arrival(socket, 'secureConnect');
  return socket.on('error', () => {}).on('close', () => bare.destroy());
}

function arrival(socket, event) {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve).once('error', reject);
    socket.once('close', () => reject(new Error(`closed before ${event}`)));
  });
}

/** Resolves when an answer of a known length is there. Anything but a 200 is the end of the measurement. */
function ask(socket, path) {
  return new Promise((resolve, reject) => {
    let seen = 0;
    let length = -1;
    const onData = (chunk) => {
      if (length < 0) {
        const text = chunk.toString('latin1');
        if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text.slice(0, 300)));
        length = text.indexOf('\r\n\r\n') + 4 + Number(/^content-length: *(\d+)/im.exec(text)[1]);
      }
      seen += chunk.length;
      if (seen < length) return undefined;
      socket.off('data', onData).off('close', onClose);
      return resolve();
    };
    const onClose = () => reject(new Error('the connection ended'));
    socket.on('data', onData).once('close', onClose);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hosts.h1}\r\n${key}\r\n`);
  });
}

function askHttp2(session) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/small.json', ':authority': hosts.h2, 'x-api-key': 'placeholder' });
    let status = 0;
    stream.on('response', (head) => {
      status = head[':status'];
    });
    stream.on('error', reject).on('close', () => (status === 200 ? resolve() : reject(new Error(`status ${status}`))));
    stream.resume();
  });
}

/** `once` again and again on so many lanes; the first `warm` of them, or seconds, warm up and do not count. */
async function drive({ lanes, warm, count }, once) {
  let phase = 'warm';
  let done = 0;
  const times = [];
  const begin = () => {
    if (phase !== 'warm') return;
    phase = 'count';
    done = 0;
    times.length = 0;
    setTimeout(finish, maxCountMs).unref();
    process.send({ begun: true });
  };
  const finish = () => {
    if (phase !== 'count') return;
    phase = 'over';
    process.send({ counted: { done, p50Ms: times.sort((a, b) => a - b)[times.length >> 1] } });
  };
  setTimeout(begin, maxWarmMs).unref();
  const lane = async (index) => {
    while (phase !== 'over') {
      const now = performance.now();
      await once(index);
      done++;
      times.push(performance.now() - now);
      if (phase === 'warm' && done >= warm) begin();
      else if (phase === 'count' && done >= count) finish();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
}

const jobs = {
  async requests(job) {
    const sockets = await Promise.all(Array.from({ length: job.lanes }, (_, index) => open(job, index)));
    await drive(job, (index) => ask(sockets[index], job.path));
    for (const socket of sockets) socket.destroy();
  },
  async http2(job) {
    const { connections } = job;
    const sessions = await Promise.all(
      Array.from({ length: connections }, async (_, index) => {
        const socket = await open(job, index, 'h2');
        if (socket.alpnProtocol !== 'h2') throw new Error('no HTTP/2');
        return connectHttp2(`https://${hosts.h2}`, { createConnection: () => socket }).on('error', () => {});
      }),
    );
    await drive(job, (index) => askHttp2(sessions[index % connections]));
    for (const session of sessions) session.destroy();
  },
  handshakes: (job) =>
    drive(job, async (index) => {
      const socket = await open(job, index);
      await ask(socket, '/small.json');
      socket.destroy();
    }),
  /** One request after another with a pause, each by the next sandbox: what was leased for it has gone back meanwhile. */
  async seldom(job) {
    const sockets = await Promise.all(Array.from({ length: job.sandboxes }, (_, index) => open(job, index)));
    const times = [];
    process.send({ begun: true });
    for (let i = 0; i < job.count; i++) {
      const begun = performance.now();
      await ask(sockets[i % job.sandboxes], '/small.json');
      times.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, job.everyMs));
    }
    for (const socket of sockets) socket.destroy();
    return { p50Ms: times.sort((a, b) => a - b)[times.length >> 1] };
  },
  /** Opens so many, a few at a time, and leaves them open. */
  async hold(job) {
    let next = 0;
    const lane = async () => {
      while (next < job.count) {
        const socket = await open(job, next++);
        held.push(socket);
        await ways[job.way](socket);
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
  },
  async release() {
    for (const socket of held.splice(0)) socket.destroy();
  },
};

const ways = {
  idle: (socket) => ask(socket, '/small.json'),
  async events(socket) {
    socket.write(`GET /events HTTP/1.1\r\nHost: ${hosts.h1}\r\n${key}\r\n`);
    const head = await arrival(socket, 'data');
    if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`events: ${head}`);
    socket.resume();
  },
  async webSockets(socket) {
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const nonce = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    socket.write(`GET /ws HTTP/1.1\r\nHost: ${hosts.h1}\r\n${[...lines, nonce].join('\r\n')}\r\n${key}\r\n`);
    const head = await arrival(socket, 'data');
    if (!head.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error(`WebSocket: ${head}`);
    socket.resume();
  },
};

process.on('message', (job) => {
  jobs[job.what](job).then(
    (result) => process.send({ result: result ?? null }),
    (error) => process.send({ failed: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
