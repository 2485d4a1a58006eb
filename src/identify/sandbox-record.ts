// One registered sandbox: what the stages may know of it, plus its time to live and the hash of its secret. The hash
// sits in a private field, so a record that is logged, spread or serialized by accident does not carry it.
import { hash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { AuthMode, ProofKind, Sandbox } from '../flow/sandbox.ts';

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
});

export type StoredSandbox = z.infer<typeof storedSandbox>;

/** A record as the admin API shows it. */
export type PublicSandbox = Omit<StoredSandbox, 'secret_sha256'> & {
  readonly socket: string | null;
  readonly namespace: { readonly pid: number } | null;
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
  /** True: `expires_at` was given, and neither traffic nor `renew` moves it. */
  readonly expiryIsFinal: boolean;
  /** Moved by the registry only. */
  expiresAtMs: number;
  readonly #secretHash: Buffer | null;

  constructor(stored: StoredSandbox, socketPath: string | null, namespacePid: number | null = null) {
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
    this.expiryIsFinal = stored.expiry_is_final;
    this.expiresAtMs = Date.parse(stored.expires_at);
    this.#secretHash = stored.secret_sha256 === null ? null : Buffer.from(stored.secret_sha256, 'hex');
  }

  /** In constant time; false when this sandbox has no secret. */
  secretMatches(shown: string): boolean {
    if (this.#secretHash === null) return false;
    return timingSafeEqual(hash('sha256', shown, 'buffer'), this.#secretHash);
  }

  toStored(): StoredSandbox {
    return { ...described(this), secret_sha256: this.#secretHash?.toString('hex') ?? null };
  }
}

/** JSON for the admin API: the contract's spelling, no hash. */
export function toPublic(record: SandboxRecord): PublicSandbox {
  const namespace = record.namespacePid === null ? null : { pid: record.namespacePid };
  return { ...described(record), socket: record.socketPath, namespace };
}

/** Whether it can be told apart by what it sends alone: by a secret, and without an address that must agree. */
export function isFoundByName(record: SandboxRecord): boolean {
  return record.proof.includes('secret') && !record.proof.includes('ip');
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

function described(record: SandboxRecord): Omit<StoredSandbox, 'secret_sha256'> {
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
  };
}
