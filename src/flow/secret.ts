// A credential that cannot leave by accident: it does not print, serialize, inspect, concatenate or clone into
// anything readable. Only `inject/` may import this file as a value (scripts/rooms.cjs checks it), so only that
// room can make one or reveal one; everyone else passes it around by type.

let read: (secret: Secret) => string;

export class Secret {
  readonly name: string;
  readonly #value: string;

  static {
    read = (secret) => secret.#value;
  }

  constructor(name: string, value: string) {
    this.name = name;
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
