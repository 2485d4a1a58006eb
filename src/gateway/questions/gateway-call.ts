// A call of the gateway's own that belongs to no request: over the same guarded way out as everything else (addresses,
// TLS, upstream.resolve), on connections that no sandbox shares. The credential is in it already, put there by inject/.

import { HeaderList } from '../../path/exchange/header-list.ts';
import type { OutgoingRequest } from '../../path/exchange/outgoing-request.ts';
import type { Forwarded, Injected } from '../../path/flow.ts';
import { ownCall } from '../../path/own-questions.ts';
import { ownCallPath } from '../../path/paths.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Stage } from '../../path/stage.ts';
import { canonicalTarget } from '../../stages/accept/canonical-path.ts';
import type { ForwardStage } from '../../stages/forward/forward-stage.ts';
import { QuestionExchange } from './question-exchange.ts';

export interface GatewayCall {
  readonly host: string;
  readonly method: string;
  readonly outgoing: OutgoingRequest;
  readonly body: Buffer | null;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

let ownConnections = 0;

const timeoutMs = 15_000;
const maxAnswerBytes = 4 * 1024 * 1024;

/** Not an id that a registration can have: its connections are the gateway's alone. */
const gatewayItself = '(gateway)';

/**
 * Never sent twice, and on a connection of its own, so that no closed one is met: an endpoint that exchanges a token for
 * another has spent the old one by the time its answer is lost.
 */
export async function callUpstreamOnce(forward: ForwardStage, call: GatewayCall): Promise<GatewayAnswer> {
  const connectionsOf = `(gateway, call ${++ownConnections})`;
  try {
    const answer = await callOnce(forward, call, connectionsOf);
    if (answer instanceof Refusal) throw answer;
    return answer;
  } finally {
    forward.drop(connectionsOf);
  }
}

export async function callUpstream(forward: Stage<Injected, Forwarded>, call: GatewayCall): Promise<GatewayAnswer> {
  const first = await callOnce(forward, call);
  if (!(first instanceof Refusal)) return first;
  // A kept connection may have been closed at the far end: once more, on a new one.
  const second = await callOnce(forward, call);
  if (second instanceof Refusal) throw second;
  return second;
}

/** An upstream that was gone before it said anything is returned; everything else that is wrong is thrown. */
async function callOnce(
  forward: Stage<Injected, Forwarded>,
  call: GatewayCall,
  connectionsOf: string = gatewayItself,
): Promise<GatewayAnswer | Refusal> {
  const pieces: Buffer[] = [];
  let status = 0;
  let headers = new HeaderList();
  let bytes = 0;
  const exchange = new QuestionExchange(call.body, (head) => {
    // Codings are not asked for: what came would not be what was counted.
    if (head.headers.has('content-encoding'))
      throw notAnAnswer(call, 'compressed its answer though it was not asked to');
    status = head.status;
    headers = head.headers;
    return {
      take: (chunk) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) throw notAnAnswer(call, `answered with more than ${maxAnswerBytes} bytes`);
        pieces.push(chunk);
      },
      end: () => {},
    };
  });
  const timer = setTimeout(() => exchange.fail(tooSlow(call)), timeoutMs);
  try {
    run(forward, call, exchange, connectionsOf).catch((error: Error) => exchange.fail(error));
    await exchange.outcome;
    return { status, headers, body: Buffer.concat(pieces) };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'upstream.closed' && !exchange.answered) return error;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function run(
  forward: Stage<Injected, Forwarded>,
  { host, method, outgoing }: GatewayCall,
  exchange: QuestionExchange,
  connectionsOf: string,
): Promise<void> {
  const target = canonicalTarget(outgoing.target);
  await ownCallPath({ forward }).run(ownCall({ host, method, target, outgoing, exchange, connectionsOf }));
  if (!exchange.isWhole) throw new Error('a call of the gateway was forwarded and its answer never ended');
}

function notAnAnswer({ host }: GatewayCall, what: string): Refusal {
  return new Refusal('upstream.protocol', `${host} ${what}`);
}

function tooSlow({ host }: GatewayCall): Refusal {
  return new Refusal('upstream.timeout', `${host} took too long to answer the gateway`);
}
