// One registered sandbox: what the stages may know of it, plus its time to live and the hash of its secret. The hash
// sits in a private field, so a record that is logged, spread or serialized by accident does not carry it.
import { hash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { hostPortText } from '../../../kit/text/host-port.ts';
import type { AuthMode, HostPort, ProofKind, Sandbox } from '../../../path/sandbox.ts';

const text = z.string();

/** A record as the backup file holds it: the hash of the secret, never the secret. */
export const storedSandbox = z.strictObject({
  id: text,
  container_ip: text.nullable(),
  container_id: text.nullable(),
  repos: z.array(text),
  auth_mode: z.enum(['bot', 'user']),
  allowed_branches: z.array(text),
  credentials: z.array(text).nullable(),
  proof: z.array(z.enum(['ip', 'secret', 'mtls', 'socket'])).min(1),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  expiry_is_final: z.boolean(),
  secret_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  // Later than the rest: a backup of an earlier version has none.
  certificate_binding: text.nullable().default(null),
  container: z
    .strictObject({ name: text, network: text.nullable(), mac: text.nullable(), pid: z.int(), started_at: text })
    .nullable()
    .default(null),
  // Where several gateways share a store: the one it was registered with.
  gateway: text.optional(),
});

export type StoredSandbox = z.infer<typeof storedSandbox>;

/** What Docker said of a container: one life of it, on one network. */
export interface WitnessedContainer {
  readonly name: string;
  /** Null: it has none, and its door is in its own namespace. */
  readonly network: string | null;
  readonly mac: string | null;
  readonly pid: number;
  readonly startedAt: string;
}

/** A record as the admin API shows it. */
export type PublicSandbox = Omit<StoredSandbox, 'secret_sha256' | 'certificate_binding' | 'container'> & {
  readonly container: Pick<WitnessedContainer, 'name' | 'network' | 'mac'> | null;
  readonly socket: string | null;
  readonly namespace: { readonly pid: number } | null;
  readonly host_ports: readonly string[];
};

export class SandboxRecord implements Sandbox {
  readonly id: string;
  readonly containerIp: string | null;
  readonly containerId: string | null;
  readonly repos: readonly string[];
  readonly authMode: AuthMode;
  readonly allowedBranches: readonly string[];
  readonly credentials: readonly string[] | null;
  readonly proof: readonly ProofKind[];
  readonly createdAt: string;
  /** The Unix socket that belongs to this sandbox alone; null without the proof `socket`. */
  readonly socketPath: string | null;
  /** A process in the network namespace that this sandbox's door is in; null: it has none. */
  readonly namespacePid: number | null;
  /** Ports of the host's loopback that it was started with. */
  readonly hostPorts: readonly HostPort[];
  /** True: `expires_at` was given, and neither traffic nor `renew` moves it. */
  readonly expiryIsFinal: boolean;
  /** Moved by the registry only. */
  expiresAtMs: number;
  /** Random, one for each registration with the proof `mtls`: an earlier certificate of the same id is not good for it. */
  readonly certificateBinding: string | null;
  /** Null without a container. Moved by the Docker witness only, when its container gets another name. */
  container: WitnessedContainer | null;
  /** Hears when Docker confirms it or takes that back: other processes of this gateway must know. */
  onConfirmed: ((confirmed: boolean) => void) | null = null;
  /** The gateway it was registered with, where several share a store; null: this one. */
  readonly gateway: string | null;
  /** It has called here while the store could say that it is registered. Moved by the registry only, like the next two. */
  wasIdentified = false;
  /** What no other registration may have, as the store was told. */
  claims: readonly string[] = [];
  /** The end that the store knows of. */
  storedExpiresAtMs: number;
  readonly #secretHash: Buffer | null;
  #confirmed: boolean;

  constructor(
    stored: StoredSandbox,
    socketPath: string | null,
    namespacePid: number | null = null,
    hostPorts: readonly HostPort[] = [],
  ) {
    this.id = stored.id;
    this.containerIp = stored.container_ip;
    this.containerId = stored.container_id;
    this.repos = stored.repos;
    this.authMode = stored.auth_mode;
    this.allowedBranches = stored.allowed_branches;
    this.credentials = stored.credentials;
    this.proof = stored.proof;
    this.createdAt = stored.created_at;
    this.socketPath = socketPath;
    this.namespacePid = namespacePid;
    this.hostPorts = hostPorts;
    this.expiryIsFinal = stored.expiry_is_final;
    this.expiresAtMs = Date.parse(stored.expires_at);
    this.storedExpiresAtMs = this.expiresAtMs;
    this.gateway = stored.gateway ?? null;
    this.certificateBinding = stored.certificate_binding;
    this.container = stored.container === null ? null : read(stored.container);
    this.#confirmed = stored.container_id === null;
    this.#secretHash = stored.secret_sha256 === null ? null : Buffer.from(stored.secret_sha256, 'hex');
  }

  /** False: Docker has yet to say that its container is still the one it was, and nothing is served. Moved by the witness only. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  set confirmed(confirmed: boolean) {
    if (this.#confirmed === confirmed) return;
    this.#confirmed = confirmed;
    this.onConfirmed?.(confirmed);
  }

  /** In constant time; false when this sandbox has no secret. */
  secretMatches(shown: string): boolean {
    if (this.#secretHash === null) return false;
    return timingSafeEqual(hash('sha256', shown, 'buffer'), this.#secretHash);
  }

  toStored(): StoredSandbox {
    return {
      ...described(this),
      secret_sha256: this.#secretHash?.toString('hex') ?? null,
      certificate_binding: this.certificateBinding,
      container: this.container === null ? null : written(this.container),
    };
  }
}

/** JSON for the admin API: the contract's spelling, no hash. */
export function toPublic(record: SandboxRecord): PublicSandbox {
  const namespace = record.namespacePid === null ? null : { pid: record.namespacePid };
  const { name, network, mac } = record.container ?? {};
  const container = name === undefined ? null : { name, network: network ?? null, mac: mac ?? null };
  const hostPorts = record.hostPorts.map(hostPortText);
  return { ...described(record), container, socket: record.socketPath, namespace, host_ports: hostPorts };
}

function read({ started_at, ...rest }: NonNullable<StoredSandbox['container']>): WitnessedContainer {
  return { ...rest, startedAt: started_at };
}

export function written({ startedAt, ...rest }: WitnessedContainer): NonNullable<StoredSandbox['container']> {
  return { ...rest, started_at: startedAt };
}

/** Whether it can be told apart by what it sends alone: by a secret, and without an address that must agree. */
export function isFoundByName(record: SandboxRecord): boolean {
  return record.proof.includes('secret') && !record.proof.includes('ip');
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

function described(record: SandboxRecord): Omit<StoredSandbox, 'secret_sha256' | 'certificate_binding' | 'container'> {
  return {
    id: record.id,
    container_ip: record.containerIp,
    container_id: record.containerId,
    repos: [...record.repos],
    auth_mode: record.authMode,
    allowed_branches: [...record.allowedBranches],
    credentials: record.credentials === null ? null : [...record.credentials],
    proof: [...record.proof],
    created_at: record.createdAt,
    expires_at: new Date(record.expiresAtMs).toISOString(),
    expiry_is_final: record.expiryIsFinal,
    ...(record.gateway !== null && { gateway: record.gateway }),
  };
}
