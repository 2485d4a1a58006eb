// The pretend upstream of sizing.mjs, a process of its own on loopback: HTTP/1.1 on one port and HTTP/2 on another, both with
// TLS. Serves a small answer, a large one, a stream of events and WebSockets that stay open.
import { createHash } from 'node:crypto';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';

const { key, cert, largeBytes, eventEveryMs, eventBytes } = JSON.parse(process.env.SIZING_UPSTREAM);
const small = Buffer.from(`{"data":"${'x'.repeat(1012)}"}\n`);
const item =
  '{"id":4711,"name":"a thing among others","tags":["one","two"],"text":"words that are read, and searched"},\n';
const large = Buffer.from(item.repeat(Math.ceil(largeBytes / item.length)).slice(0, largeBytes));
const event = `data: ${'x'.repeat(eventBytes - 8)}\n\n`;

function serve(request, response) {
  // What the gateway puts in must have arrived, or nothing of this is worth measuring.
  if (request.headers['x-api-key'] !== 'secret-injected') {
    response.writeHead(401);
    return response.end();
  }
  if (request.url !== '/events') {
    const body = request.url === '/large.json' ? large : small;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    return response.end(body);
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event);
  const timer = setInterval(() => response.write(event), eventEveryMs);
  return response.on('close', () => clearInterval(timer));
}

function upgrade(request, socket) {
  const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${guid}`).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.write(`${[...head, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`);
  socket.on('error', () => socket.destroy()).resume();
}

const listen = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const h1 = createServer({ key, cert, keepAliveTimeout: 120_000 }, serve).on('upgrade', upgrade);
const h2 = createSecureServer({ key, cert }, serve);
process.on('disconnect', () => process.exit(0));
process.send({ h1: await listen(h1), h2: await listen(h2) });
