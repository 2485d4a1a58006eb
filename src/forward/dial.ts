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
import { Refusal } from '../flow/refusal.ts';
import type { CompiledPolicy } from '../policy/compiled.ts';
import { connectThroughProxy } from './chain-proxy.ts';
import { type FoundUpstream, type Lookup, pinnedUpstream, resolveUpstream } from './find-upstream.ts';

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
  readonly lookup: Lookup;
  /** Name of this gateway in Via, for loops through an upstream proxy. */
  readonly instance: string;
  /** PEM roots beside the built-in ones, from the environment of the gateway (NODE_EXTRA_CA_CERTS). */
  readonly environmentRoots: readonly string[];
  readonly onDial: (connected: boolean) => void;
}

const highWaterMark = 256 * 1024;

const rootsAfterMs = 1_000;

export class Dialler {
  readonly #settings: DialSettings;
  readonly #sessions = new LRUCache<string, Buffer>({ max: 500 });
  #roots: { readonly policy: CompiledPolicy; readonly context: SecureContext } | null = null;

  constructor(settings: DialSettings) {
    this.#settings = settings;
    // Reading the roots takes tens of milliseconds: soon, so that the first request need not, but not while a sandbox
    // waits for its start.
    setTimeout(() => this.#trustedRoots(), rootsAfterMs).unref();
  }

  /** Bare TCP (tunnels and plain http). */
  async open(host: string, port: number): Promise<{ socket: Socket; address: string }> {
    try {
      const opened = await this.#open(host, port);
      this.#settings.onDial(true);
      return opened;
    } catch (error) {
      this.#settings.onDial(false);
      throw error;
    }
  }

  async #open(host: string, port: number): Promise<{ socket: Socket; address: string }> {
    const policy = this.#settings.policy();
    const { connectTimeoutMs } = policy.limits;
    const pinned = pinnedUpstream(policy, host, port);
    if (pinned === null && policy.upstream.proxy !== null) {
      const socket = await connectThroughProxy(
        policy.upstream.proxy,
        host,
        port,
        this.#settings.instance,
        connectTimeoutMs,
      );
      return { socket, address: `proxy ${policy.upstream.proxy.host}:${policy.upstream.proxy.port}` };
    }
    const found = pinned ?? (await resolveUpstream(host, port, this.#settings.lookup));
    const socket = await connectFound(found, host, connectTimeoutMs);
    return { socket, address: `${socket.remoteAddress ?? '?'}:${found.port}` };
  }

  async dial(origin: Origin, alpn: readonly string[]): Promise<Dialled> {
    const { socket, address } = await this.open(origin.host, origin.port);
    if (origin.scheme === 'http') return { socket, protocol: 'http/1.1', address };
    const secure = await this.#secure(socket, origin, alpn);
    return { socket: secure, protocol: secure.alpnProtocol === 'h2' ? 'h2' : 'http/1.1', address };
  }

  #secure(socket: Socket, origin: Origin, alpn: readonly string[]): Promise<TLSSocket> {
    const key = `${origin.host}:${origin.port}`;
    const secureContext = this.#trustedRoots();
    const session = this.#sessions.get(key);
    const timeoutMs = this.#settings.policy().limits.connectTimeoutMs;
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
      tls.once('error', failed);
      tls.on('session', (fresh) => {
        if (this.#roots?.context === secureContext) this.#sessions.set(key, fresh);
      });
      tls.once('secureConnect', () => {
        clearTimeout(timer);
        tls.off('error', failed);
        resolve(tls);
      });
    });
  }

  /** One context for all upstreams: parsing the roots for every connection would cost more than the connection. */
  #trustedRoots(): SecureContext {
    const policy = this.#settings.policy();
    if (this.#roots?.policy !== policy) {
      const ca = [...rootCertificates, ...this.#settings.environmentRoots, ...policy.upstream.extraRoots];
      this.#roots = { policy, context: createSecureContext({ ca, minVersion: 'TLSv1.2' }) };
      // A resumed session is not verified again: one made under roots that were withdrawn must not outlive them.
      this.#sessions.clear();
    }
    return this.#roots.context;
  }
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
  if (/CERT|SIGNATURE|ISSUER|ALTNAME|CRL|CHAIN|HOSTNAME|SELF_SIGNED/.test(code)) {
    return new Refusal('upstream.certificate', `the certificate of ${host} is not valid (${code})`, {
      hint: 'If the upstream uses a private CA, the operator adds it under upstream.ca.',
      cause,
    });
  }
  return new Refusal('upstream.connect', `no TLS connection to ${host} could be made`, { cause });
}
