// Opens connections to upstreams: TCP to a classified address, through the corporate proxy where there is one, then
// TLS with the certificate always verified. Every failure becomes a refusal with the right status.
import { connect as connectTcp, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { ClientIdentity } from '../../../path/exchange/client-identity.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy, UpstreamProxy } from '../../../policy/compiled.ts';
import { authoritiesOf, connectByProxy } from './connect-by-proxy.ts';
import { FairLookups } from './fair-lookups.ts';
import { type AddressLookup, type FoundUpstream, pinnedUpstream, resolveUpstream } from './find-upstream.ts';
import type { CircuitReport } from './upstream-circuits.ts';

export interface Origin {
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
}

export interface Dialled {
  readonly socket: Socket;
  /** What ALPN chose; `http/1.1` when it chose nothing. */
  readonly protocol: 'h2' | 'http/1.1';
  readonly address: string;
}

export interface DialSettings {
  readonly policy: () => CompiledPolicy;
  readonly lookup: AddressLookup;
  /** Name of this gateway in Via, for loops through an upstream proxy. */
  readonly instance: string;
  /** PEM roots beside the built-in ones, from the environment of the gateway (NODE_EXTRA_CA_CERTS). */
  readonly environmentRoots: readonly string[];
  readonly onDial: (connected: boolean) => void;
  /** Why no sandbox is led to this port of the host's loopback, in words; null: it may be. Absent: none is led there. */
  readonly whyNotHostPort?: (port: number) => string | null;
  /** Whether a sandbox has published a port of its own there: another one is not led to it, whatever the policy says. */
  readonly isPublished?: (address: string, port: number) => boolean;
  /** How many connections that nobody uses may be kept; absent: as many as are usual. */
  readonly keptUpstreams?: number;
  /** The value of Proxy-Authorization for `upstream.proxy`; null: none. Rejects with a Refusal. */
  readonly proxyLogin?: () => Promise<string | null>;
  /** An upstream is left alone from now on, or is back. */
  readonly onCircuit?: (report: CircuitReport) => void;
}

const highWaterMark = 256 * 1024;

const rootsAfterMs = 1_000;

export class Dialler {
  readonly #settings: DialSettings;
  readonly #lookups: FairLookups;
  readonly #sessions = new LRUCache<string, Buffer>({ max: 500 });
  readonly #contexts = new LRUCache<string, SecureContext>({ max: 100 });
  #roots: { readonly policy: CompiledPolicy; readonly ca: readonly string[]; readonly context: SecureContext } | null =
    null;

  constructor(settings: DialSettings) {
    this.#settings = settings;
    this.#lookups = new FairLookups(settings.lookup);
    // Reading the roots takes tens of milliseconds: soon, so that the first request need not, but not while a sandbox
    // waits for its start.
    setTimeout(() => this.#trustedRoots(), rootsAfterMs).unref();
  }

  /**
   * Bare TCP (tunnels, plain http and plain connections). `caller`: the sandbox whose turn a look-up is. `answersFirst`: the
   * upstream may speak before we do.
   */
  async open(
    host: string,
    port: number,
    caller: string,
    deadline = new Deadline(this.#settings.policy().limits.connectTimeoutMs),
    answersFirst = false,
  ): Promise<{ socket: Socket; address: string }> {
    try {
      const opened = await this.#open(host, port, caller, deadline, answersFirst);
      this.#settings.onDial(true);
      return opened;
    } catch (error) {
      this.#settings.onDial(false);
      throw error;
    }
  }

  /** To a port of this host's own loopback, and nowhere else on it. // Guards: threats.md T110 */
  async openHostPort(port: number): Promise<{ socket: Socket; address: string }> {
    const { whyNotHostPort = () => 'no sandbox is led there', policy } = this.#settings;
    const why = whyNotHostPort(port);
    if (why !== null) throw reservedPort(port, why);
    try {
      const socket = await connectFound(
        { addresses: ownLoopback, port },
        'localhost',
        policy().limits.connectTimeoutMs,
      );
      return { socket, address: `${socket.remoteAddress ?? '?'}:${port}` };
    } catch (cause) {
      throw new Refusal('upstream.connect', `nothing answers at port ${port} of the host`, {
        hint: `Start the service on the host, on 127.0.0.1 or ::1. The sandbox finds it once it listens.`,
        cause,
      });
    }
  }

  async #open(
    host: string,
    port: number,
    caller: string,
    deadline: Deadline,
    answersFirst: boolean,
  ): Promise<{ socket: Socket; address: string }> {
    const policy = this.#settings.policy();
    const pinned = pinnedUpstream(policy, host, port);
    if (pinned?.addresses.some(({ address }) => this.#settings.isPublished?.(address, pinned.port))) {
      throw publishedThere(host, pinned.port);
    }
    const lookup: AddressLookup = (name) => this.#lookups.find(name, caller, deadline.forLookupMs);
    const { proxy } = policy.upstream;
    if (pinned === null && proxy !== null && !proxy.except.some((pattern) => pattern.covers(host))) {
      return this.#throughProxy(proxy, { host, port, answersFirst }, lookup, deadline);
    }
    const found = pinned ?? (await resolveUpstream(host, port, lookup));
    const socket = await connectFound(found, host, deadline.leftMs);
    return { socket, address: `${socket.remoteAddress ?? '?'}:${found.port}` };
  }

  /** The proxy is asked for an address that was judged here; for the name only where the operator wants that (docs/adr/005). */
  async #throughProxy(
    proxy: UpstreamProxy,
    { host, port, answersFirst }: { readonly host: string; readonly port: number; readonly answersFirst: boolean },
    lookup: AddressLookup,
    deadline: Deadline,
  ): Promise<{ socket: Socket; address: string }> {
    const found = proxy.byName ? null : await resolveUpstream(host, port, lookup);
    const authorities = found === null ? [`${host}:${port}`] : authoritiesOf(found);
    const login = (await this.#settings.proxyLogin?.()) ?? null;
    const { instance } = this.#settings;
    const leftMs = (): number => deadline.leftMs;
    const opened = await connectByProxy({ proxy, host, authorities, instance, login, leftMs, answersFirst });
    const at = proxy.byName ? '' : `${opened.authority} by `;
    return { socket: opened.socket, address: `${at}proxy ${proxy.host}:${proxy.port}` };
  }

  async dial(
    origin: Origin,
    alpn: readonly string[],
    caller: string,
    identity: ClientIdentity | null = null,
  ): Promise<Dialled> {
    const deadline = new Deadline(this.#settings.policy().limits.connectTimeoutMs);
    const { socket, address } = await this.open(origin.host, origin.port, caller, deadline);
    if (origin.scheme === 'http') return { socket, protocol: 'http/1.1', address };
    const secure = await this.#secure(socket, origin, alpn, deadline.leftMs, identity);
    return { socket: secure, protocol: secure.alpnProtocol === 'h2' ? 'h2' : 'http/1.1', address };
  }

  #secure(
    socket: Socket,
    origin: Origin,
    alpn: readonly string[],
    timeoutMs: number,
    identity: ClientIdentity | null,
  ): Promise<TLSSocket> {
    // Guards: threats.md T113. A session that is resumed brings the certificate of its first handshake with it.
    const key = `${origin.host}:${origin.port}${identity === null ? '' : ` as ${identity.id}`}`;
    const trusted = this.#trustedRoots();
    const secureContext = identity === null ? trusted : this.#contextOf(identity);
    const session = this.#sessions.get(key);
    return new Promise((resolve, reject) => {
      const options = {
        socket,
        servername: origin.host,
        secureContext,
        // Said aloud: NODE_TLS_REJECT_UNAUTHORIZED in the environment would otherwise switch it off.
        rejectUnauthorized: true,
        ALPNProtocols: [...alpn],
        highWaterMark,
        ...(session === undefined ? {} : { session }),
      };
      const tls = connectTls(options);
      const timer = setTimeout(() => tls.destroy(timedOut(origin.host, 'the TLS handshake')), timeoutMs);
      const failed = (error: Error): void => {
        clearTimeout(timer);
        reject(tlsFailure(origin.host, error));
      };
      const closed = (): void => failed(new Error('closed during the handshake'));
      tls.once('error', failed);
      tls.once('close', closed);
      tls.on('session', (fresh) => {
        if (this.#roots?.context === trusted) this.#sessions.set(key, fresh);
      });
      tls.once('secureConnect', () => {
        clearTimeout(timer);
        tls.off('error', failed).off('close', closed);
        resolve(tls);
      });
    });
  }

  /** One context for all upstreams: parsing the roots for every connection would cost more than the connection. */
  #trustedRoots(): SecureContext {
    const policy = this.#settings.policy();
    if (this.#roots?.policy !== policy) {
      const ca = [...rootCertificates, ...this.#settings.environmentRoots, ...policy.upstream.extraRoots];
      this.#roots = { policy, ca, context: createSecureContext({ ca, minVersion: 'TLSv1.2' }) };
      this.#contexts.clear();
      // A resumed session is not verified again: one made under roots that were withdrawn must not outlive them.
      this.#sessions.clear();
    }
    return this.#roots.context;
  }

  /** The same roots, and the certificate that is shown. */
  #contextOf(identity: ClientIdentity): SecureContext {
    let context = this.#contexts.get(identity.id);
    if (context === undefined) {
      context = identity.contextFor(this.#roots!.ca);
      this.#contexts.set(identity.id, context);
    }
    return context;
  }
}

/** Look-up, connection and handshake together have the time of one limit. */
class Deadline {
  readonly #atMs: number;

  constructor(timeoutMs: number) {
    this.#atMs = performance.now() + timeoutMs;
  }

  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#atMs - performance.now()));
  }

  /** Not all of it: what a slow resolver leaves too little time for would look like the upstream's own failure. */
  get forLookupMs(): number {
    return Math.ceil(this.leftMs * 0.75);
  }
}

const ownLoopback: FoundUpstream['addresses'] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

function reservedPort(port: number, why: string): Refusal {
  return new Refusal('target.port', `port ${port} of the host is not for sandboxes: ${why}`, {
    rule: 'built-in: host ports that are reserved',
    hint: 'Let the service that you want to reach listen on another port.',
  });
}

function publishedThere(host: string, port: number): Refusal {
  return new Refusal('upstream.address-refused', `${host} leads to port ${port} here, which a sandbox has published`, {
    rule: 'built-in: no sandbox reaches another',
    hint: 'Name another address under upstream.resolve, or unpublish the port.',
  });
}

function connectFound(found: FoundUpstream, host: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({
      host,
      port: found.port,
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: true,
      // The addresses that were classified are the addresses that are dialled: no second look-up to rebind.
      lookup: (_host, _options, answer) => answer(null, [...found.addresses]),
      ...{ highWaterMark },
    });
    const timer = setTimeout(() => socket.destroy(timedOut(host, 'connecting')), timeoutMs);
    socket.once('error', (cause) => {
      clearTimeout(timer);
      reject(
        cause instanceof Refusal ? cause : new Refusal('upstream.connect', `${host} could not be reached`, { cause }),
      );
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

function timedOut(host: string, what: string): Refusal {
  return new Refusal('upstream.timeout', `${what} to ${host} took too long`, { rule: 'limits.connect_timeout_ms' });
}

function tlsFailure(host: string, cause: Error): Refusal {
  if (cause instanceof Refusal) return cause;
  const code = (cause as { code?: string }).code ?? '';
  // An alert is what the other side says about us: it may want a certificate that we have not.
  if (!code.includes('ALERT') && /CERT|SIGNATURE|ISSUER|ALTNAME|CRL|CHAIN|HOSTNAME|SELF_SIGNED/.test(code)) {
    return new Refusal('upstream.certificate', `the certificate of ${host} is not valid (${code})`, {
      hint: 'If the server uses a private CA, the operator can add it under upstream.ca.',
      cause,
    });
  }
  return new Refusal('upstream.connect', `the gateway could not open a TLS connection to ${host}`, { cause });
}
