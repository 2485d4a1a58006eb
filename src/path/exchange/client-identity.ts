// What the gateway shows of itself to an upstream that asks for a client certificate. Made by `inject/` and used by `forward/`, for the
// host it is for and nothing else. The key is within; like a Secret it does not print or serialize.

export class ClientIdentity {
  /** Another for another certificate or key: connections of two are never shared. */
  readonly id: string;
  readonly #contextFor: (roots: readonly string[]) => TlsContext;

  constructor(id: string, contextFor: (roots: readonly string[]) => TlsContext) {
    this.id = id;
    this.#contextFor = contextFor;
  }

  /** A context of TLS that trusts `roots` (PEM). */
  contextFor(roots: readonly string[]): TlsContext {
    return this.#contextFor(roots);
  }

  toJSON(): string {
    return `[client certificate ${this.id}]`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toJSON();
  }
}

/** `SecureContext` of node:tls. */
export interface TlsContext {
  readonly context: unknown;
}
