// Bytes both ways between a client and the gateway, no faster than either side takes them. Each direction ends by itself;
// a broken one breaks the other, so that half an answer never looks whole.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { endInGoodOrder } from './refuse-client.ts';

/**
 * `onRefused`: the gateway ended the connection before it said anything, and the client is still there to be told. A door that
 * does not take a certificate does just that: with TLS 1.3 its side of the handshake comes last.
 */
export function relay(client: Socket, gateway: TLSSocket, onRefused: (error: Error | null) => void): void {
  let answered = false;
  let told = false;
  gateway.once('data', () => {
    answered = true;
  });
  client.on('error', () => gateway.destroy());
  client.on('close', () => {
    // In good order it has ended its side by now, and what it sent is on its way.
    if (gateway.writableEnded) gateway.destroySoon();
    else gateway.destroy();
  });
  const onNothing = (error: Error | null): boolean => {
    if (answered || told || !client.writable) return false;
    told = true;
    client.unpipe(gateway);
    onRefused(error);
    gateway.destroy();
    return true;
  };
  gateway.on('error', onNothing);
  gateway.on('end', () => {
    if (!onNothing(null)) client.end();
  });
  gateway.on('close', () => {
    if (told || client.destroyed) return;
    // What it sent is written out; nobody is left for what the client may still send.
    if (gateway.readableEnded) endInGoodOrder(client);
    else breakOff(client);
  });
  client.pipe(gateway);
  gateway.pipe(client, { end: false });
}

/** As a reset: a body that ends with its connection must not look complete. A Unix socket has none. */
function breakOff(client: Socket): void {
  if (client.remotePort === undefined) client.destroy();
  else client.resetAndDestroy();
}
