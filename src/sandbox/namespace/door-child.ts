// What runs for a moment inside the sandbox's network namespace: makes every address local to it, binds the door's ports, hands
// the listening sockets to the gateway and ends. A text, because it must run under any form of the product (source, build, bundle) as
// `node -e`. It never accepts for itself, holds no secret, and never binds where the gateway itself lives.
import { bindAddressesSource } from './bind-addresses.ts';
import { kernelMadeInterface } from './process-namespaces.ts';

/** What the child is told, as its one argument. */
export interface DoorChildOrder {
  /** The gateway's own network namespace (`net:[…]`), where nothing may ever be bound. */
  readonly forbidden: readonly string[];
  /** The namespace that was looked at: between the look and the entering a process id may have changed hands. */
  readonly expected: string;
  readonly ports: readonly number[];
  /** Bound on loopback alone: they are ports of the host. */
  readonly hostPorts: readonly number[];
  readonly dnsPort: number;
  readonly proxyPort: number;
  readonly backlog: number;
  /** The file of the foreign-function library. */
  readonly koffi: string;
}

/** What it answers: handles under a name, then `done`, or what went wrong. */
export type DoorChildMessage =
  | { readonly kind: 'tcp' | 'host-port'; readonly port: number }
  | { readonly kind: 'dns-tcp' | 'dns-udp' | 'proxy' }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly code: DoorChildFault; readonly text: string };

export type DoorChildFault =
  | 'own-namespace'
  | 'other-namespace'
  | 'other-interface'
  | 'EADDRINUSE'
  | 'EACCES'
  | 'unknown';

export const doorChildSource = String.raw`'use strict';
const net = require('node:net');
const dgram = require('node:dgram');
const { readFileSync, readlinkSync } = require('node:fs');
const order = JSON.parse(process.argv[1]);
const koffi = require(order.koffi);

function fail(code, text) {
  throw Object.assign(new Error(text), { code });
}

// Looked at from inside, after entering: this is where the sockets will be.
function checkPlace() {
  const here = readlinkSync('/proc/self/ns/net');
  if (order.forbidden.includes(here)) fail('own-namespace', here);
  if (here !== order.expected) fail('other-namespace', here);
  // Every host on such an interface would be taken for the sandbox.
  const kernelMade = /${kernelMadeInterface}/;
  const names = readFileSync('/proc/self/net/dev', 'latin1').split('\n').slice(2).map((line) => line.split(':', 1)[0].trim());
  const other = names.filter((name) => name !== '' && !kernelMade.test(name));
  if (other.length > 0) fail('other-interface', other.join(', '));
}

${bindAddressesSource}
// Nowhere is an address named to Node: it would load its resolver to look it up, a third of the time that all this takes.
function listen(where) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen({ ...where, backlog: order.backlog, exclusive: true }, () => resolve(server));
  });
}

// On every address of both families; where the kernel has no IPv6, on those of IPv4 alone.
function onAll(port) {
  return listen({ port });
}

function onLoopback(port) {
  const libc = koffi.load(null);
  // AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC
  const fd = libc.func('int socket(int domain, int type, int protocol)')(2, 0o2004001, 0);
  const on = Buffer.alloc(4);
  on.writeInt32LE(1);
  // SOL_SOCKET, SO_REUSEADDR, as Node does
  libc.func('int setsockopt(int fd, int level, int name, const uint8_t *value, unsigned int length)')(fd, 1, 2, on, 4);
  const address = Buffer.from([0, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  new Uint16Array(address.buffer, address.byteOffset, 1)[0] = 2;
  if (libc.func('int bind(int fd, const uint8_t *address, unsigned int length)')(fd, address, address.length) !== 0) {
    const number = koffi.errno();
    const code = Object.keys(koffi.os.errno).find((name) => koffi.os.errno[name] === number);
    return Promise.reject(Object.assign(new Error('bind ' + code + ' 127.0.0.1:' + port), { code }));
  }
  return listen({ fd });
}

const asItIs = (address, options, done) => done(null, address, address.includes(':') ? 6 : 4);

function bind(port, type, address) {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket({ type, lookup: asItIs });
    socket.once('error', reject);
    socket.bind({ port, address, exclusive: true }, () => resolve(socket));
  });
}

// Null where the kernel has no IPv6.
async function whereThereIsIt(opening) {
  try {
    return await opening;
  } catch (error) {
    if (error.code !== 'EAFNOSUPPORT' && error.code !== 'EADDRNOTAVAIL') throw error;
    return null;
  }
}

function send(message, handle) {
  return new Promise((resolve, reject) => {
    process.send(message, handle, {}, (error) => (error ? reject(error) : resolve()));
  });
}

async function main() {
  checkPlace();
  bindEveryAddress(koffi);
  const opening = [
    ...order.ports.map(async (port) => [{ kind: 'tcp', port }, await onAll(port)]),
    ...order.hostPorts.flatMap((port) => [
      listen({ port, host: '127.0.0.1' }).then((server) => [{ kind: 'host-port', port }, server]),
      whereThereIsIt(listen({ port, host: '::1' })).then((server) => [{ kind: 'host-port', port }, server]),
    ]),
    onAll(order.dnsPort).then((server) => [{ kind: 'dns-tcp' }, server]),
    // Not one socket for both: it would answer from ::1 whatever IPv6 address was asked, and who asked would wait in vain.
    // This way any other IPv6 address refuses at once, and the next resolver is asked.
    bind(order.dnsPort, 'udp4', '0.0.0.0').then((socket) => [{ kind: 'dns-udp' }, socket]),
    whereThereIsIt(bind(order.dnsPort, 'udp6', '::1')).then((socket) => [{ kind: 'dns-udp' }, socket]),
    onLoopback(order.proxyPort).then((server) => [{ kind: 'proxy' }, server]),
  ];
  // Node sends one handle after the other, each when the one before it has been taken.
  const handles = (await Promise.all(opening)).filter(([, handle]) => handle !== null);
  await Promise.all(handles.map(([message, handle]) => send(message, handle)));
  await send({ kind: 'done' });
}

// The gateway has all it needs, or is gone: in both cases there is nothing left to do here. It waits for this end, and of all
// ends this is the shortest.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
main().catch((error) => send({ kind: 'failed', code: error.code || 'unknown', text: error.message }).catch(() => process.exit(1)));
`;
