// The head of a request as an HTTP/1.1 upstream gets it: our own Host and hop-by-hop fields, then the fields that
// inject/ prepared. Never decides what may be in them.
import type { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import type { Injected } from '../../../path/flow.ts';
import { renderHead } from '../../../protocols/http1/write-head.ts';
import type { Origin } from '../dial/dial.ts';
import type { Wrapped } from './relay-settings.ts';

export function requestHead(flow: Wrapped): string {
  const { canonical, wrapped: exchange } = flow;
  const outgoing = lastOutgoing(flow);
  const { names, keys, values } = outgoing.headers;
  if (exchange.form === 'payload') joinCookies(names, keys, values);
  const own = [`Host: ${authorityOf(originOf(flow))}`];
  if (exchange.requestFraming.kind === 'chunked') own.push('Transfer-Encoding: chunked');
  if (canonical.kind === 'websocket') own.push('Connection: Upgrade', 'Upgrade: websocket');
  return renderHead(`${canonical.method} ${outgoing.target} HTTP/1.1`, names, values, own);
}

/** What goes out now: the second try has its own. */
export function lastOutgoing({ outgoing, renewed }: Injected): OutgoingRequest {
  return renewed ?? outgoing;
}

/** Where a request goes: where it was addressed to, unless inject/ says otherwise. */
export function originOf({ canonical, outgoing }: Injected): Origin {
  return outgoing.origin ?? canonical;
}

export function authorityOf({ host, port, scheme }: Origin): string {
  return port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
}

/** RFC 9113 8.2.3: HTTP/2 may split Cookie; HTTP/1.1 must have one. */
function joinCookies(names: string[], keys: string[], values: string[]): void {
  const first = keys.indexOf('cookie');
  for (let i = first + 1; first >= 0 && i < keys.length; ) {
    if (keys[i] !== 'cookie') {
      i++;
      continue;
    }
    values[first] += `; ${values[i]}`;
    for (const list of [names, keys, values]) list.splice(i, 1);
  }
}
