// What stays in the network namespace of a sandbox that publishes a port: it connects to ports of the sandbox's own loopback when the
// gateway asks, and hands each connection over before it has read a byte of it. A text, as the door's opener is. It listens
// nowhere, holds no secret, sees no file of the sandbox, and is in no namespace from which the sandbox could reach it but the network.

/** What the child is told, as its one argument. */
export interface ConnectorOrder {
  /** The gateway's own network namespace (`net:[…]`), where it must never connect from. */
  readonly forbidden: readonly string[];
  /** The namespace that was looked at. */
  readonly expected: string;
  readonly timeoutMs: number;
  /** The file of the foreign-function library. */
  readonly koffi: string;
}

/** What it answers: that it is there; a connection (with its handle); why there is none. */
export type ConnectorMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly text: string }
  | { readonly kind: 'connected'; readonly id: number }
  | { readonly kind: 'refused'; readonly id: number; readonly code: string };

export const connectorSource = `'use strict';
const net = require('node:net');
const { readlinkSync } = require('node:fs');
const order = JSON.parse(process.argv[1]);
const hosts = ['127.0.0.1', '::1'];

process.once('disconnect', () => process.exit(0));
const here = readlinkSync('/proc/self/ns/net');
if (order.forbidden.includes(here) || here !== order.expected) {
  process.send({ kind: 'failed', text: here }, () => process.exit(1));
} else {
  // PR_SET_DUMPABLE: nobody but root traces it, or looks into its memory and files.
  require(order.koffi).load(null).func('int prctl(int option, ulong a, ulong b, ulong c, ulong d)')(4, 0, 0, 0, 0);
  process.on('message', ({ id, port }) => connect(id, port, hosts));
  process.send({ kind: 'ready' });
}

function connect(id, port, [host, ...others]) {
  const socket = new net.Socket();
  // Or it would begin to read, and what it has read would be lost with it.
  socket.pause();
  const timer = setTimeout(() => socket.destroy(Object.assign(new Error('too slow'), { code: 'ETIMEDOUT' })), order.timeoutMs);
  socket.once('error', (error) => {
    clearTimeout(timer);
    if (others.length > 0) connect(id, port, others);
    else process.send({ kind: 'refused', id, code: error.code || 'unknown' });
  });
  socket.once('connect', () => {
    clearTimeout(timer);
    socket.removeAllListeners('error').on('error', () => {});
    process.send({ kind: 'connected', id }, socket, {}, () => {});
  });
  socket.connect({ host, port });
}
`;
