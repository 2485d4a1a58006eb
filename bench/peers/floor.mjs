// The floor: what such a relay costs in Node when it does nothing but relay. TLS on both sides, one header replaced, bodies copied
// as they come, upstream connections kept. No identity, policy, limit, journal or search, no timeouts, and no defence against
// a message that can be read in two ways: a probe of the cost, never a proxy to use. What Sallyport costs beyond it is its own.
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';

const { CERT, CERT_KEY, UP_CA, KEY, PORT } = process.env;
const highWaterMark = 1 << 20;
const emptyLine = Buffer.from('\r\n\r\n');
const upstreamCa = fs.readFileSync(UP_CA);
// One certificate has all names, so none is minted here.
const secureContext = tls.createSecureContext({ cert: fs.readFileSync(CERT), key: fs.readFileSync(CERT_KEY) });

/** Where a body ends: `feed` returns the offset behind it, or -1 when it goes on. */
class BodyOfLength {
  constructor(length) {
    this.left = length;
  }

  feed(bytes, from) {
    const here = Math.min(this.left, bytes.length - from);
    this.left -= here;
    return this.left === 0 ? from + here : -1;
  }
}

class ChunkedBody {
  state = 'size';
  size = 0;
  isEmptyLine = true;

  feed(bytes, from) {
    let at = from;
    while (at < bytes.length) {
      if (this.state === 'data') {
        const here = Math.min(this.size, bytes.length - at);
        this.size -= here;
        at += here;
        if (this.size === 0) this.state = 'behind data';
        continue;
      }
      const byte = bytes[at++];
      if (this.state === 'size') this.#readSize(byte);
      else if (this.state === 'behind data') {
        if (byte === 10) this.state = 'size';
      } else if (byte === 10) {
        if (this.isEmptyLine) return at;
        this.isEmptyLine = true;
      } else if (byte !== 13) this.isEmptyLine = false;
    }
    return -1;
  }

  #readSize(byte) {
    if (byte === 10) this.state = this.size === 0 ? 'trailers' : 'data';
    else if (byte >= 48 && byte <= 57) this.size = this.size * 16 + byte - 48;
    else if ((byte | 32) >= 97 && (byte | 32) <= 102) this.size = this.size * 16 + (byte | 32) - 87;
  }
}

const untilClose = { feed: () => -1 };

function bodyOf(head, otherwise) {
  if (/\r\ntransfer-encoding:[^\r]*chunked/i.test(head)) return new ChunkedBody();
  const length = /\r\ncontent-length:[ \t]*(\d+)/i.exec(head);
  return length ? new BodyOfLength(Number(length[1])) : otherwise;
}

function answerBodyOf(head, status, method) {
  if (method === 'HEAD' || status === 204 || status === 304) return new BodyOfLength(0);
  return bodyOf(head, untilClose);
}

const fields = { connection: /\r\nconnection:[^\r]*/gi, key: /\r\nx-api-key:[^\r]*/gi };

const joined = (before, bytes) => (before ? Buffer.concat([before, bytes]) : bytes);

const kept = new Map();
const sessions = new Map();

function keptUpstream(origin) {
  const idle = kept.get(origin) ?? [];
  while (idle.length) {
    const upstream = idle.pop();
    if (upstream.writable) return upstream;
  }
  return null;
}

function dial(origin, use) {
  const [servername, port] = origin.split(':');
  const upstream = tls.connect({
    host: '127.0.0.1',
    port: Number(port),
    servername,
    ca: upstreamCa,
    session: sessions.get(origin),
    ALPNProtocols: ['http/1.1'],
    highWaterMark,
  });
  upstream.setNoDelay(true);
  upstream.on('session', (session) => sessions.set(origin, session));
  upstream.on('error', () => {});
  upstream.on('close', () => upstream.owner?.lost());
  upstream.on('data', (bytes) => upstream.owner?.onAnswer(bytes));
  upstream.on('drain', () => upstream.owner?.client.resume());
  upstream.once('secureConnect', () => use(upstream));
}

function keep(origin, upstream) {
  upstream.owner = null;
  upstream.resume();
  if (!kept.has(origin)) kept.set(origin, []);
  kept.get(origin).push(upstream);
}

/** One client connection inside its CONNECT: one request at a time, what is sent ahead waits. */
class Tunnel {
  upstream = null;
  waiting = null;
  isAsking = false;
  isSwitched = false;
  requestBody = null;
  answerHead = null;
  answerBody = null;
  clientEnds = false;
  upstreamEnds = false;
  method = '';

  constructor(client, origin) {
    this.client = client;
    this.origin = origin;
    client.on('data', (bytes) => this.onRequest(bytes));
    client.on('error', () => {});
    client.on('drain', () => this.upstream?.resume());
    client.on('close', () => {
      if (!this.upstream) return;
      this.upstream.owner = null;
      this.upstream.destroy();
    });
  }

  lost() {
    this.upstream = null;
    this.client.end();
  }

  toUpstream(bytes) {
    if (!this.upstream.write(bytes)) this.client.pause();
  }

  onRequest(bytes) {
    if (this.isSwitched) return this.toUpstream(bytes);
    if (this.requestBody) {
      const end = this.requestBody.feed(bytes, 0);
      if (end < 0) return this.toUpstream(bytes);
      this.requestBody = null;
      this.toUpstream(end === bytes.length ? bytes : bytes.subarray(0, end));
      if (end === bytes.length) return undefined;
      return this.onRequest(bytes.subarray(end));
    }
    const read = joined(this.waiting, bytes);
    const headEnd = this.isAsking ? -1 : read.indexOf(emptyLine);
    this.waiting = headEnd < 0 ? read : null;
    if (headEnd >= 0) this.ask(read, headEnd);
  }

  ask(read, headEnd) {
    let head = read.latin1Slice(0, headEnd + 2);
    this.method = head.slice(0, head.indexOf(' '));
    this.isAsking = true;
    const body = bodyOf(head, new BodyOfLength(0));
    const end = body.feed(read, headEnd + 4);
    this.requestBody = end < 0 ? body : null;
    if (end >= 0 && end < read.length) this.waiting = read.subarray(end);
    const connection = /\r\nconnection:[ \t]*([^\r]*)/i.exec(head)?.[1] ?? '';
    this.clientEnds = /close/i.test(connection);
    if (connection && !/upgrade/i.test(connection)) head = head.replace(fields.connection, '');
    head = `${head.replace(fields.key, '')}x-api-key: ${KEY}\r\n\r\n`;
    const rest = read.subarray(headEnd + 4, end < 0 ? read.length : end);
    const upstream = keptUpstream(this.origin);
    if (upstream) return this.send(upstream, head, rest);
    this.client.pause();
    dial(this.origin, (dialled) => {
      if (this.client.destroyed) return keep(this.origin, dialled);
      this.client.resume();
      this.send(dialled, head, rest);
    });
  }

  send(upstream, head, rest) {
    this.upstream = upstream;
    upstream.owner = this;
    if (rest.length === 0) return upstream.write(head, 'latin1');
    upstream.cork();
    upstream.write(head, 'latin1');
    this.toUpstream(rest);
    upstream.uncork();
  }

  onAnswer(bytes) {
    let read = bytes;
    let at = 0;
    if (!this.isSwitched && !this.answerBody) {
      read = joined(this.answerHead, bytes);
      at = this.readAnswerHead(read);
      this.answerHead = at < 0 ? read : null;
      if (at < 0) return;
    }
    const end = this.isSwitched ? -1 : this.answerBody.feed(read, at);
    if (!this.client.write(read)) this.upstream.pause();
    if (end >= 0) this.answered();
  }

  /** Where the body begins, or -1 when the head is not complete. Interim answers go on with the final one. */
  readAnswerHead(read) {
    for (let from = 0; ; ) {
      const headEnd = read.indexOf(emptyLine, from);
      if (headEnd < 0) return -1;
      const head = read.latin1Slice(from, headEnd + 2);
      const status = Number(head.slice(9, 12));
      from = headEnd + 4;
      if (status === 101) this.isSwitched = true;
      else if (status < 200) continue;
      else this.answerBody = answerBodyOf(head, status, this.method);
      this.upstreamEnds = /\r\nconnection:[ \t]*close/i.test(head);
      return from;
    }
  }

  answered() {
    const { upstream } = this;
    this.answerBody = null;
    this.upstream = null;
    this.isAsking = false;
    upstream.owner = null;
    // A body that is still being sent makes the connection useless for another request.
    if (this.requestBody || this.upstreamEnds) {
      upstream.destroy();
      return this.client.end();
    }
    keep(this.origin, upstream);
    if (this.clientEnds) return this.client.end();
    const next = this.waiting;
    this.waiting = null;
    if (next) this.onRequest(next);
  }
}

net
  .createServer({ noDelay: true }, (socket) => {
    let read = null;
    const onData = (bytes) => {
      read = joined(read, bytes);
      if (read.indexOf(emptyLine) < 0) return;
      socket.removeListener('data', onData);
      const [method, origin] = read.latin1Slice(0, read.indexOf('\r\n')).split(' ');
      if (method !== 'CONNECT') return socket.destroy();
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const client = new tls.TLSSocket(socket, {
        isServer: true,
        secureContext,
        ALPNProtocols: ['http/1.1'],
        highWaterMark,
      });
      new Tunnel(client, origin);
    };
    socket.on('error', () => {});
    socket.on('data', onData);
  })
  .listen(Number(PORT), '127.0.0.1');
