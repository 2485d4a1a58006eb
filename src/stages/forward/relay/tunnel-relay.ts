// Passes the bytes of an undecrypted tunnel or a plain connection both ways, with back-pressure, until either side ends. Reads
// nothing.

import type { Perishable } from '../../../kit/sweeper.ts';
import { enrich } from '../../../path/enrich.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { Forwarded } from '../../../path/flow.ts';
import { isPlainConnection } from '../../../path/passes-unread.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { Dialler } from '../dial/dial.ts';
import { deadlineAfterPause, type RelaySettings, type Wrapped } from './relay-settings.ts';

/** `open` dials. A plain connection may have said all it will say and still be answered: each way of it ends by itself. */
export async function relayTunnel(
  open: () => ReturnType<Dialler['open']>,
  flow: Wrapped,
  settings: RelaySettings,
): Promise<Forwarded> {
  const { wrapped: exchange } = flow;
  const isPlain = isPlainConnection(flow.canonical.kind);
  let gone = false;
  exchange.onAbandoned = () => {
    gone = true;
  };
  const { socket, address } = await open();
  if (gone) {
    socket.destroy();
    return enrich(flow, { status: 200, upstreamAddress: address });
  }
  return new Promise((resolve, reject) => {
    const { sweeper, idleTimeoutMs } = settings;
    const watch: Perishable = {
      deadlineMs: sweeper.deadlineIn(idleTimeoutMs),
      expire: () => {
        const later = deadlineAfterPause(exchange, settings, true);
        if (later !== null) watch.deadlineMs = later;
        // Paused: it is the client that takes nothing, and its door keeps that time.
        else if (socket.isPaused()) touch();
        else socket.destroy(new Refusal('upstream.timeout', 'nothing moved through the tunnel for too long'));
      },
    };
    sweeper.join(watch);
    const touch = (): void => {
      watch.deadlineMs = sweeper.deadlineIn(idleTimeoutMs);
    };
    const toUpstream: BodyWriter = {
      onDrain: null,
      write: (chunk) => {
        touch();
        return socket.write(chunk);
      },
      flush: () => {},
      end: () => socket.end(),
      fail: () => socket.destroy(),
    };
    exchange.onAbandoned = () => socket.destroy();
    socket.allowHalfOpen = isPlain;
    socket.on('drain', () => toUpstream.onDrain?.());
    const toClient = exchange.goRaw(toUpstream);
    toClient.onDrain = () => socket.resume();
    socket.on('data', (chunk: Buffer) => {
      touch();
      if (!toClient.write(chunk)) socket.pause();
    });
    // One that came through the operator's proxy was paused until somebody listens.
    socket.resume();
    if (isPlain) socket.on('end', () => toClient.end(null));
    let failure: Error | null = null;
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      sweeper.leave(watch);
      toClient.end(null);
      if (failure instanceof Refusal) reject(failure);
      else resolve(enrich(flow, { status: 200, upstreamAddress: address }));
    });
  });
}
