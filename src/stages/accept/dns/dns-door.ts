// DNS on UDP and TCP, in a sandbox's network namespace or on an internal network. Every answer is made here: no question
// leaves the host, and nothing that is asked is kept. The listening sockets are handed in.
import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { plainAddress } from '../../../kit/canonical-address.ts';
import type { Refusal } from '../../../path/refusal.ts';
import type { MayResolve } from './dns-answer.ts';
import { type DnsClient, type DnsClients, SandboxDns } from './dns-client.ts';
import { maxQueryBytes } from './dns-query.ts';

export interface DnsPorts {
  /** May this sandbox know this name. A no is written down there. */
  readonly lookup: MayResolve;
  /** Why one question more is too many; null: it is counted. */
  over(): Refusal | null;
  /** The sandbox asks more than it may. Called when that begins, at most once a minute. */
  flooded(why: Refusal): void;
}

export interface DnsSockets {
  readonly udp: readonly UdpSocket[];
  readonly tcp: Server;
}

/** How many answers may wait while the system takes no more. The client of a dropped one will ask again. */
const maxWaitingBytes = 256 * 1024;

/** Serves sockets that one sandbox alone can reach, and closes them with `close`. */
export function attachDns(sockets: DnsSockets, ports: DnsPorts): { close(): void } {
  const only = new SandboxDns(ports);
  return serveDns(sockets, { confirm: () => null, at: () => only });
}

/** Serves sockets that already listen, and closes them with `close`. */
export function serveDns({ udp, tcp }: DnsSockets, clients: DnsClients): { close(): void } {
  const open = new Set<{ destroy(): void }>();
  let isClosed = false;

  const reply = (socket: UdpSocket, message: Buffer, from: RemoteInfo): void => {
    if (isClosed) return;
    const answer = clients.at(from.address).answer(message, from.address);
    // Nothing can be sent to port 0, and dgram throws at it.
    if (answer === null || from.port === 0 || socket.getSendQueueSize() > maxWaitingBytes) return;
    // A client that is gone is no fault of ours.
    socket.send(answer, from.port, from.address, () => {});
  };

  function onMessage(this: UdpSocket, message: Buffer, from: RemoteInfo): void {
    const confirming = clients.confirm(from.address);
    if (confirming === null) {
      reply(this, message, from);
      return;
    }
    const release = hold(clients.at(from.address));
    // Too many wait already: whoever asked will ask again.
    if (release === null) return;
    void confirming.then(() => {
      release();
      reply(this, message, from);
    });
  }

  const onConnection = (socket: Socket): void => {
    socket.on('error', () => {});
    const address = plainAddress(socket.remoteAddress);
    const release = address === null ? null : hold(clients.at(address));
    if (address === null || release === null) {
      socket.destroy();
      return;
    }
    open.add(socket);
    socket.on('close', () => {
      open.delete(socket);
      release();
    });
    // Asked for each question: a connection may be older than the registration. What must wait is asked again.
    const answer = (message: Buffer): Buffer | null =>
      clients.confirm(address) === null ? clients.at(address).answer(message, address) : null;
    const begin = (): void => {
      if (!socket.destroyed) new DnsStream(socket, answer, () => {});
    };
    const confirming = clients.confirm(address);
    if (confirming === null) begin();
    else void confirming.then(begin);
  };
  // An unheard error event would end the gateway; a socket that broke gives no answers, which is all it could do.
  const onError = (): void => {};

  for (const socket of udp) socket.on('message', onMessage).on('error', onError);
  tcp.on('connection', onConnection).on('error', onError);

  return {
    close() {
      if (isClosed) return;
      isClosed = true;
      tcp.off('connection', onConnection);
      for (const socket of open) socket.destroy();
      for (const socket of udp) socket.off('message', onMessage).close();
      tcp.close();
    },
  };
}

/** Takes one of the places a client has; null: there is none left. */
function hold(client: DnsClient): (() => void) | null {
  if (client.held >= client.maxHeld) return null;
  client.held++;
  return () => {
    client.held--;
  };
}

// One DNS connection over TCP: messages with their length in front, one after another or all at once, answered in order.
// Holds at most one unfinished question, and a client that neither finishes one nor reads its answers is cut off.
const lengthBytes = 2;
const idleMs = 10_000;

export class DnsStream {
  readonly #socket: Socket;
  readonly #answer: (message: Buffer) => Buffer | null;
  readonly #timer: NodeJS.Timeout;
  #unfinished: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, answer: (message: Buffer) => Buffer | null, onClosed: () => void) {
    this.#socket = socket;
    this.#answer = answer;
    // Not the socket's own timeout: that begins anew with every byte, and a byte now and then would hold it for ever.
    this.#timer = setTimeout(() => socket.destroy(), idleMs);
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('drain', () => socket.resume());
    // After its last question a client may close its side: what was answered before still goes out.
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(this.#timer);
      onClosed();
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    let rest = this.#unfinished.length === 0 ? bytes : Buffer.concat([this.#unfinished, bytes]);
    const replies: Buffer[] = [];
    while (rest.length >= lengthBytes) {
      const length = rest.readUInt16BE(0);
      if (length > maxQueryBytes) {
        this.#socket.destroy();
        return;
      }
      if (rest.length < lengthBytes + length) break;
      const reply = this.#answer(rest.subarray(lengthBytes, lengthBytes + length));
      rest = rest.subarray(lengthBytes + length);
      // What has no answer (no question, or one too many) ends it: there is no telling which answer was left out.
      if (reply === null) {
        this.#socket.destroy();
        return;
      }
      replies.push(lengthOf(reply), reply);
    }
    // A copy: a slice would keep the whole buffer it came in alive.
    this.#unfinished = Buffer.from(rest);
    if (replies.length === 0) return;
    this.#timer.refresh();
    if (!this.#socket.write(Buffer.concat(replies))) this.#socket.pause();
  }
}

function lengthOf(reply: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt16BE(reply.length);
  return length;
}
