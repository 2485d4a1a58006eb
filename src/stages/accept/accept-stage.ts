// The first stage: a request as it was read becomes the one canonical request that every decision uses. CONNECT, SNI,
// Host, :authority and the address that was dialled must name the same place, or nothing else is looked at.
// Guards: threats.md T5

import { enrich } from '../../path/enrich.ts';
import type { Accepted, Arrived, CanonicalRequest, RawRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Stage } from '../../path/stage.ts';
import { accepted } from '../../path/stamps/accepted.ts';
import { type Authority, canonicalHost, parseAuthority } from './canonical-host.ts';
import { type CanonicalTarget, canonicalTarget } from './canonical-path.ts';
import { canonicalLookup } from './dns/dns-lookup.ts';
import {
  type Destination,
  parseDestination,
  refuseBareAddress,
  refuseOtherAddress,
} from './doors/check-destination.ts';

const methodToken = /^[A-Z][A-Z-]{0,31}$/;
const wholeTarget: CanonicalTarget = { path: '/', rawPath: '/', query: null };

/** `instance` is the name this gateway writes into Via when it chains to another proxy: meeting it again is a loop. */
export function createAcceptStage(instance: string): Stage<Arrived, Accepted> {
  return {
    name: 'accept',
    run(flow) {
      const { request } = flow;
      if (request.fault !== null) throw request.fault;
      refuseLoops(request, instance);
      return enrich(flow, { canonical: accepted(canonicalise(request)) });
    },
  };
}

function refuseLoops(request: RawRequest, instance: string): void {
  if (!request.headers.has('via')) return;
  if (request.headers.getAll('via').some((value) => value.includes(instance))) {
    throw new Refusal('loop.detected', 'this request has already come through this gateway', {
      hint: 'The upstream proxy of the gateway points back at the gateway: change upstream.proxy.',
    });
  }
}

export function canonicalise(request: RawRequest): CanonicalRequest {
  // What a port of the host is bound to inside is loopback, where no name has an address.
  if (request.destination === null || request.kind === 'host-port') return readRequest(request, null);
  const destination = parseDestination(request.destination);
  refuseBareAddress(request, destination);
  const canonical = readRequest(request, destination);
  refuseOtherAddress(request, canonical.host, destination);
  return canonical;
}

function readRequest(request: RawRequest, destination: Destination | null): CanonicalRequest {
  if (request.kind === 'connect') return canonicalConnect(request);
  if (request.kind === 'tunnel') return canonicalTunnel(request);
  if (request.kind === 'tcp' || request.kind === 'host-port') return canonicalPlain(request);
  if (request.kind === 'lookup') return canonicalLookup(request);
  if (!methodToken.test(request.method) || request.method === 'CONNECT') {
    throw new Refusal(
      'malformed.syntax',
      `the method ${JSON.stringify(request.method.slice(0, 40))} is not served here`,
    );
  }
  const { scheme, authority, target } = splitTarget(request);
  checkHostFields(request, authority);
  return {
    scheme,
    host: authority.host,
    port: portOf(request, scheme, authority, destination),
    method: request.method,
    path: target.path,
    rawPath: target.rawPath,
    query: target.query,
    kind: isWebSocket(request) ? 'websocket' : 'http',
  };
}

/** Where a connection was made to a place, its port counts and what the request says must agree. */
function portOf(
  request: RawRequest,
  scheme: 'https' | 'http',
  authority: Authority,
  destination: Destination | null,
): number {
  const said = authority.port ?? (scheme === 'https' ? 443 : 80);
  if (request.connect !== null) {
    checkTunnel(request, authority.host, authority.port);
    return parseAuthority(request.connect).port ?? said;
  }
  if (destination === null) return said;
  checkServerName(request, authority.host);
  if (authority.port !== null && authority.port !== destination.port) {
    throw mismatch(`the connection went to port ${destination.port}, the request says ${authority.port}`);
  }
  return destination.port;
}

interface SplitTarget {
  readonly scheme: 'https' | 'http';
  readonly authority: Authority;
  readonly target: CanonicalTarget;
}

function splitTarget(request: RawRequest): SplitTarget {
  if (request.target.charCodeAt(0) === 0x2f) {
    const named = request.authority ?? request.headers.get('host') ?? null;
    if (isForProxy(request) && request.sni === null && request.authority === null) throw notAProxyRequest();
    if (named === null) throw mismatch('the request names no host');
    return { scheme: request.scheme, authority: parseAuthority(named), target: canonicalTarget(request.target) };
  }
  const absolute = /^(https?):\/\/([^/?#]*)(.*)$/i.exec(request.target);
  if (absolute === null) {
    throw new Refusal('malformed.path', 'the request target is neither a path nor an http(s) URL');
  }
  const scheme = absolute[1]!.toLowerCase() === 'https' ? 'https' : 'http';
  if (!isForProxy(request) && scheme !== request.scheme)
    throw mismatch('the scheme of the URL is not the scheme of the connection');
  if (absolute[2]!.includes('@')) throw new Refusal('malformed.host', 'the URL carries a user name or password');
  const rest = absolute[3]!;
  const target = rest === '' ? wholeTarget : canonicalTarget(rest.startsWith('?') ? `/${rest}` : rest);
  return { scheme, authority: parseAuthority(absolute[2]!), target };
}

/** Exactly one Host on HTTP/1.1; on HTTP/2 it may be absent; wherever it stands it names the same place. */
function checkHostFields(request: RawRequest, authority: Authority): void {
  const { keys, values } = request.headers;
  let seen = 0;
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] !== 'host') continue;
    seen++;
    const named = parseAuthority(values[i]!);
    if (
      named.host !== authority.host ||
      (named.port !== null && authority.port !== null && named.port !== authority.port)
    ) {
      throw mismatch(`Host says ${values[i]}, the request target says ${authority.host}`);
    }
  }
  if (seen > 1) throw mismatch('there is more than one Host field');
  if (seen === 0 && request.protocol === 'http/1.1') throw mismatch('there is no Host field');
}

function checkTunnel(request: RawRequest, host: string, port: number | null): void {
  const connect = parseAuthority(request.connect!);
  if (connect.host !== host || (port !== null && connect.port !== null && connect.port !== port)) {
    throw mismatch(
      `CONNECT says ${request.connect}, the request inside says ${host}${port === null ? '' : `:${port}`}`,
    );
  }
  checkServerName(request, host);
}

function checkServerName({ sni }: RawRequest, host: string): void {
  if (sni !== null && sni !== host && canonicalHost(sni) !== host) {
    throw mismatch(`the TLS handshake (SNI) says ${sni}, the request says ${host}`);
  }
}

/** Sent to us as a proxy, and not through a connection that was made to a place. */
function isForProxy({ connect, destination }: RawRequest): boolean {
  return connect === null && destination === null;
}

/** Some clients put the proxy's own address there: that is another place, like any other. */
function checkConnectHost(request: RawRequest, authority: Authority): void {
  try {
    checkHostFields(request, authority);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'mismatch.authority') throw error;
    throw mismatch(`Host says ${request.headers.get('host')}, CONNECT says ${authority.host}`);
  }
}

function canonicalConnect(request: RawRequest): CanonicalRequest {
  const authority = parseAuthority(request.target);
  if (authority.port === null) throw new Refusal('malformed.host', 'CONNECT needs host:port');
  if (request.headers.has('host')) checkConnectHost(request, authority);
  return {
    ...wholeTarget,
    scheme: 'https',
    host: authority.host,
    port: authority.port,
    method: 'CONNECT',
    kind: 'connect',
  };
}

function canonicalTunnel(request: RawRequest): CanonicalRequest {
  const { host, port } = parseAuthority(request.connect ?? request.target);
  return { ...wholeTarget, scheme: 'https', host, port: port ?? 443, method: 'CONNECT', kind: 'tunnel' };
}

/** There is nothing in it to read: its door says where it goes, by the place that it was made to. */
function canonicalPlain(request: RawRequest): CanonicalRequest {
  const { host, port } = parseAuthority(request.connect ?? request.target);
  if (port === null) throw new Refusal('malformed.host', 'a plain connection needs host:port');
  const { kind } = request;
  return { ...wholeTarget, scheme: 'https', host, port, method: 'CONNECT', kind: kind === 'tcp' ? kind : 'host-port' };
}

/** WebSocket passes; h2c may be ignored by any server and is; other protocols would be dropped silently, so refused. */
function isWebSocket(request: RawRequest): boolean {
  const upgrade = request.headers.get('upgrade');
  if (upgrade === undefined) return false;
  const wanted = upgrade.trim().toLowerCase();
  if (wanted === 'h2c') return false;
  if (wanted !== 'websocket' || request.method !== 'GET') {
    throw new Refusal('malformed.syntax', `an upgrade to ${JSON.stringify(wanted.slice(0, 40))} is not served`, {
      hint: 'Only WebSocket upgrades (GET with Upgrade: websocket) pass.',
    });
  }
  // Some servers take what follows the head for the new protocol at once, others for a body.
  // Zero is no body: Java's client says so with every upgrade.
  const length = request.headers.get('content-length');
  if ((length !== undefined && length !== '0') || request.headers.has('transfer-encoding')) {
    throw new Refusal('malformed.framing', 'a WebSocket upgrade has no body');
  }
  return (request.headers.get('connection') ?? '').toLowerCase().includes('upgrade');
}

function mismatch(what: string): Refusal {
  return new Refusal('mismatch.authority', `the request names more than one destination: ${what}`, {
    rule: 'built-in: CONNECT = SNI = Host',
    hint: 'Use the same host name in the URL, the Host field and the TLS handshake.',
  });
}

function notAProxyRequest(): Refusal {
  return new Refusal('malformed.path', 'this is a proxy: it takes CONNECT or a full http:// URL, not a bare path', {
    hint: 'Set HTTPS_PROXY and HTTP_PROXY to this address instead of opening it.',
  });
}
