// What agents do in a minute, through the door: each piece resolves when it went as it should, and throws when it did not.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { hosts } from './upstreams.mjs';

const patienceMs = 30_000;
const upload = Buffer.alloc(4 * 1024 * 1024, 'y');

/** `door`: `{ port }` or `{ path }`. */
export async function openTls(door, host, caPath, protocol = 'http/1.1') {
  const socket = connect(door.path === undefined ? { port: door.port, host: '127.0.0.1' } : { path: door.path });
  const said = await new Promise((resolve, reject) => {
    socket.once('error', reject).once('close', () => reject(new Error('the door closed')));
    socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
    socket.once('data', resolve);
  });
  if (!said.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`CONNECT: ${said}`);
  const tls = connectTls({ socket, servername: host, ca: readFileSync(caPath), ALPNProtocols: [protocol] });
  await new Promise((resolve, reject) => tls.once('secureConnect', resolve).once('error', reject));
  tls.removeAllListeners('error');
  tls.on('error', () => {});
  return tls;
}

/** One answer over HTTP/1.1, read to its end; gives its status and its length. */
export function exchange(tls, head, body = null) {
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0);
    let bytes = 0;
    const end = (settle, value) => {
      clearTimeout(timer);
      tls.off('data', onData).off('close', onClose);
      settle(value);
    };
    const timer = setTimeout(() => end(reject, new Error(`no answer to ${head.split('\r\n')[0]}`)), patienceMs);
    const onClose = () => end(reject, new Error(`cut off: ${head.split('\r\n')[0]}`));
    const onData = (chunk) => {
      bytes += chunk.length;
      // Only the beginning and the end matter.
      got = got.length < 65_536 ? Buffer.concat([got, chunk]) : got;
      const at = got.indexOf('\r\n\r\n');
      if (at < 0) return;
      const fields = got.subarray(0, at).toString('latin1');
      const length = /^content-length: *(\d+)/im.exec(fields)?.[1];
      const isWhole =
        length === undefined ? chunk.toString('latin1').endsWith('0\r\n\r\n') : bytes >= at + 4 + Number(length);
      if (isWhole) end(resolve, { status: Number(fields.slice(9, 12)), bytes: bytes - at - 4 });
    };
    tls.on('data', onData).once('close', onClose);
    tls.write(head);
    if (body !== null) tls.write(body);
  });
}

const get = (host, path, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

function expect(what, isSo) {
  if (!isSo) throw new Error(`not as it should be: ${what}`);
}

/** Calls on a connection that is kept, and one that is not asked for. */
export async function callKept({ door, caPath }, times, count) {
  const tls = await openTls(door, hosts.api, caPath);
  for (let i = 0; i < times; i++) {
    const { status } = await count(() => exchange(tls, get(hosts.api, '/call')));
    expect(`a call: ${status}`, status === 200);
  }
  tls.destroy();
}

export async function callRefused({ door, caPath }, times, count) {
  const tls = await openTls(door, hosts.api, caPath);
  for (let i = 0; i < times; i++) {
    const { status } = await count(() => exchange(tls, get(hosts.api, '/call', 'DELETE')));
    expect(`a refusal: ${status}`, status === 403);
  }
  tls.destroy();
}

export async function callHttp2({ door, caPath }, times, count) {
  const tls = await openTls(door, hosts.api, caPath, 'h2');
  const session = connectHttp2(`https://${hosts.api}`, { createConnection: () => tls });
  session.on('error', () => {});
  const one = () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/call' });
      stream.on('response', (fields) => resolve(fields[':status'])).on('error', reject);
      stream.on('close', () => reject(new Error('cut off'))).resume();
    });
  const statuses = await Promise.all(Array.from({ length: times }, () => count(one)));
  expect(
    `calls over HTTP/2: ${statuses}`,
    statuses.every((status) => status === 200),
  );
  session.close();
  await new Promise((resolve) => session.once('close', resolve));
}

export async function stream({ door, caPath }, count) {
  const tls = await openTls(door, hosts.api, caPath);
  const { status, bytes } = await count(() => exchange(tls, get(hosts.api, '/stream')));
  expect(`a stream: ${status} ${bytes}`, status === 200 && bytes > 20 * 10);
  tls.destroy();
}

export async function download({ door, caPath }, count) {
  const tls = await openTls(door, hosts.api, caPath);
  const { status, bytes } = await count(() => exchange(tls, get(hosts.api, '/download')));
  expect(`a download: ${status} ${bytes}`, status === 200 && bytes >= upload.length);
  tls.destroy();
}

export async function send({ door, caPath }, count) {
  const tls = await openTls(door, hosts.api, caPath);
  const head = `POST /upload HTTP/1.1\r\nHost: ${hosts.api}\r\nContent-Length: ${upload.length}\r\n\r\n`;
  const { status } = await count(() => exchange(tls, head, upload));
  expect(`an upload: ${status}`, status === 200);
  tls.destroy();
}

/** A client that goes away in the middle of things. */
export async function abort({ door, caPath }, path, count) {
  const tls = await openTls(door, hosts.api, caPath);
  await count(async () => {
    tls.write(get(hosts.api, path));
    if (path !== '/never') await new Promise((resolve) => tls.once('data', resolve));
    else await new Promise((resolve) => setTimeout(resolve, 50));
    tls.destroy();
  });
}

/** An echo of ten messages, over RFC 6455 by hand: masked text frames of fewer than 126 bytes. */
export async function talk({ door, caPath }, count) {
  const tls = await openTls(door, hosts.socket, caPath);
  await count(async () => {
    const key = randomBytes(16).toString('base64');
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
    let got = '';
    tls.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    const until = async (mark) => {
      const deadline = performance.now() + patienceMs;
      while (!got.includes(mark)) {
        expect(`a WebSocket waits for ${mark}`, performance.now() < deadline && !tls.destroyed);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    tls.write(`GET /echo HTTP/1.1\r\nHost: ${hosts.socket}\r\n${upgrade}\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
    await until('101 Switching Protocols');
    for (let i = 0; i < 10; i++) {
      const text = Buffer.from(`message ${i} of a sandbox`);
      tls.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]));
      await until(text.toString());
    }
    tls.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
    await new Promise((resolve) => tls.once('close', resolve).setTimeout(2000, () => tls.destroy()));
  });
}

/** A clone and, when `branch` is given, a push of one commit more. */
export async function cloneAndPush({ door, caPath, folder }, branch) {
  const place = join(folder, `clone-${randomBytes(4).toString('hex')}`);
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSL_CAINFO: caPath,
    https_proxy: `http://127.0.0.1:${door.port}`,
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  const git = (...args) =>
    new Promise((resolve, reject) => {
      execFile('git', args, { env, timeout: patienceMs }, (error, out, said) =>
        error === null ? resolve(out) : reject(new Error(`git ${args.join(' ')}: ${said}`)),
      );
    });
  try {
    await git('clone', '--quiet', `https://${hosts.git}/acme/app.git`, place);
    if (branch === null) return;
    appendFileSync(join(place, 'file-0.txt'), `${branch}\n`);
    await git('-C', place, 'commit', '--quiet', '-am', branch);
    await git('-C', place, 'push', '--quiet', 'origin', `HEAD:refs/heads/${branch}`);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
