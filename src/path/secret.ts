// A credential that cannot leave by accident: it does not print, serialize, inspect, concatenate or clone into
// anything readable. Only `inject/` may import this file as a value (scripts/rooms.cjs checks it), so only that
// room can make one or reveal one; everyone else passes it around by type.

let read: (secret: Secret) => string;

/** What is known of a value, and may be shown. */
export interface AboutSecret {
  /** A token of a login (OAuth): where the credential knows a form for logins, it goes out in that. */
  readonly login?: boolean;
  /** Fields that go out with it, e.g. the account that a login is for. Not secret, but none of the sandbox's business. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  /** Milliseconds since the epoch; null or absent: not known. */
  readonly expiresAtMs?: number | null;
}

export class Secret {
  readonly name: string;
  readonly login: boolean;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly expiresAtMs: number | null;
  readonly #value: string;

  static {
    read = (secret) => secret.#value;
  }

  constructor(name: string, value: string, about: AboutSecret = {}) {
    this.name = name;
    this.login = about.login ?? false;
    this.fields = about.fields ?? [];
    this.expiresAtMs = about.expiresAtMs ?? null;
    this.#value = value;
  }

  toString(): string {
    return `[secret ${this.name}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.toPrimitive](): string {
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** The plain value. What it returns must go on the wire to the credential's own host and nowhere else. */
export function reveal(secret: Secret): string {
  return read(secret);
}
