// Flows as they look when they end: whole, or as far as a refusal let them come.

import type { Exchange } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../src/path/exchange/outgoing-request.ts';
import type { Arrived, Forwarded, RawRequest } from '../../../../src/path/flow.ts';
import { accepted } from '../../../../src/path/stamps/accepted.ts';
import { granted } from '../../../../src/path/stamps/granted.ts';
import { proven } from '../../../../src/path/stamps/proven.ts';
import { Trail } from '../../../../src/path/trail.ts';

export function arrivedFlow(over: Partial<RawRequest> = {}): Arrived {
  const trail = new Trail(performance.now() - 3);
  return {
    requestId: 'req-1',
    arrivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    caller: {
      door: 'proxy 127.0.0.1:8080',
      address: '172.18.0.5',
      socketOf: null,
      proxyAuthorization: 'Basic c2J4OnB3',
    },
    request: {
      protocol: 'http/1.1',
      scheme: 'https',
      method: 'POST',
      target: '/v1/messages?key=planted-query-value&beta',
      authority: null,
      headers: HeaderList.from([
        ['Host', 'api.example.com'],
        ['X-Api-Key', 'planted-header-value'],
      ]),
      connect: 'api.example.com:443',
      sni: 'api.example.com',
      kind: 'http',
      hiddenName: false,
      destination: null,
      fault: null,
      ...over,
    },
    exchange: { bytesIn: 120, bytesOut: 4096 } as Exchange,
    trail,
  };
}

export function forwardedFlow(over: Partial<Forwarded> = {}): Forwarded {
  const flow = arrivedFlow();
  for (const stage of ['accept', 'identify', 'authorize', 'inject', 'forward']) flow.trail.mark(stage, 'ok');
  return {
    ...flow,
    canonical: accepted({
      scheme: 'https',
      host: 'api.example.com',
      port: 443,
      method: 'POST',
      path: '/v1/messages',
      rawPath: '/v1/messages',
      query: 'key=planted-query-value&beta',
      kind: 'http',
    }),
    sandbox: proven({
      id: 'sbx-1',
      containerIp: '172.18.0.5',
      containerId: null,
      repos: [],
      authMode: 'bot',
      allowedBranches: [],
      credentials: null,
      proof: ['ip', 'secret'],
      createdAt: '2026-01-01T00:00:00Z',
    }),
    permission: granted({
      rule: 'allow[0] (preset anthropic)',
      tunnel: false,
      credential: 'anthropic',
      git: null,
      github: null,
      repository: null,
    }),
    outgoing: new OutgoingRequest('/v1/messages', HeaderList.from([['x-api-key', 'planted-real-key']])),
    injected: 'anthropic',
    status: 200,
    upstreamAddress: '192.0.2.7:443',
    ...over,
  };
}
