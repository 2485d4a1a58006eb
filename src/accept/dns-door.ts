// DNS in the sandbox's network namespace, on UDP and TCP, whatever resolver it believes it is asking. Every answer is
// made here: no question leaves the host, and nothing that is asked is kept. The listening sockets are handed in.
import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { answerQuery, type Lookup, refuseQuery } from './dns-answer.ts';
import { DnsRate } from './dns-rate.ts';
import { DnsStream } from './dns-stream.ts';

export interface DnsPorts {
  /** May this sandbox know this name. A no is written down there. */
  readonly lookup: Lookup;
  /** The sandbox asks more than it may; told when it begins, at most once a minute. */
  flooded(): void;
}

export interface DnsSockets {
  readonly udp: readonly UdpSocket[];
  readonly tcp: Server;
}

const maxStreams = 32;
/** Answers that wait because the system takes no more: whoever asked will ask again. */
const maxWaitingBytes = 256 * 1024;

/** Serves sockets that already listen, and closes them with `close`. */
export function attachDns({ udp, tcp }: DnsSockets, ports: DnsPorts): { close(): void } {
  const rate = new DnsRate(() => ports.flooded());
  const streams = new Set<DnsStream>();
  const answer = (message: Buffer): Buffer | null =>
    rate.take() ? answerQuery(message, ports.lookup) : refuseQuery(message);

  function onMessage(this: UdpSocket, message: Buffer, from: RemoteInfo): void {
    const reply = answer(message);
    // Nothing can be sent to port 0, and dgram throws at it.
    if (reply === null || from.port === 0 || this.getSendQueueSize() > maxWaitingBytes) return;
    // A client that is gone is no fault of ours.
    this.send(reply, from.port, from.address, () => {});
  }
  const onConnection = (socket: Socket): void => {
    if (streams.size >= maxStreams) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    const stream = new DnsStream(socket, answer, () => streams.delete(stream));
    streams.add(stream);
  };
  // An unheard error event would end the gateway; a socket that broke gives no answers, which is all it could do.
  const onError = (): void => {};

  for (const socket of udp) socket.on('message', onMessage).on('error', onError);
  tcp.on('connection', onConnection).on('error', onError);

  let isClosed = false;
  return {
    close() {
      if (isClosed) return;
      isClosed = true;
      tcp.off('connection', onConnection);
      for (const stream of streams) stream.destroy();
      for (const socket of udp) socket.off('message', onMessage).close();
      tcp.close();
    },
  };
}
