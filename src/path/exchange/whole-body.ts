// A request body that must be read whole to be judged: bounded, and told apart from one that the client gave up on.
import { BodyPull } from './body-pull.ts';
import { ClientGone } from './client-gone.ts';
import type { Exchange } from './exchange.ts';

/** `exchange` in payload form. Null: there is more than `maxBytes` of it. */
export async function readWholeBody(exchange: Exchange, maxBytes: number): Promise<Buffer | null> {
  const { requestFraming } = exchange;
  if (requestFraming.kind === 'length' && requestFraming.bytes > maxBytes) return null;
  const pull = BodyPull.from(exchange);
  exchange.onAbandoned = () => pull.fail(new ClientGone());
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of pull) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
