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
  readonly dnsPort: number;
  readonly proxyPort: number;
  readonly backlog: number;
  /** The file of the foreign-function library. */
  readonly koffi: string;
}

/** What it answers: handles under a name, then `done`, or what went wrong. */
export type DoorChildMessage =
  | { readonly kind: 'tcp'; readonly port: number }
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
function listen(port, host) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen({ port, host, backlog: order.backlog, exclusive: true }, () => resolve(server));
  });
}

function bind(port, type, address) {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket({ type });
    socket.once('error', reject);
    socket.bind({ port, address, exclusive: true }, () => resolve(socket));
  });
}

// One socket for both families; where the kernel has no IPv6, for IPv4 alone.
async function dualStack(six, four) {
  try {
    return await six();
  } catch (error) {
    if (error.code !== 'EAFNOSUPPORT' && error.code !== 'EADDRNOTAVAIL') throw error;
    return four();
  }
}

function send(message, handle) {
  return new Promise((resolve, reject) => {
    process.send(message, handle, {}, (error) => (error ? reject(error) : resolve()));
  });
}

async function main() {
  checkPlace();
  bindEveryAddress(require(order.koffi));
  const onAll = (port) => dualStack(() => listen(port, '::'), () => listen(port, '0.0.0.0'));
  for (const port of order.ports) await send({ kind: 'tcp', port }, await onAll(port));
  await send({ kind: 'dns-tcp' }, await onAll(order.dnsPort));
  // Not one socket for both: it would answer from ::1 whatever IPv6 address was asked, and who asked would wait in vain.
  // This way any other IPv6 address refuses at once, and the next resolver is asked.
  await send({ kind: 'dns-udp' }, await bind(order.dnsPort, 'udp4', '0.0.0.0'));
  const udp6 = await dualStack(() => bind(order.dnsPort, 'udp6', '::1'), () => null);
  if (udp6 !== null) await send({ kind: 'dns-udp' }, udp6);
  await send({ kind: 'proxy' }, await listen(order.proxyPort, '127.0.0.1'));
  await send({ kind: 'done' });
}

// The gateway has all it needs, or is gone: in both cases there is nothing left to do here. It waits for this end, and of all
// ends this is the shortest.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
main().catch((error) => send({ kind: 'failed', code: error.code || 'unknown', text: error.message }).catch(() => process.exit(1)));
`;
