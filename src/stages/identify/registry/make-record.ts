// A registration becomes a record: an id, a secret of which only the hash is kept, a time to live and, for the proof
// `socket`, the path of the socket that will belong to this sandbox alone.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ProofKind } from '../../../path/sandbox.ts';
import type { RegistrationRequest } from './registration.ts';
import { RegistrationError } from './registration-error.ts';
import { hashSecret, SandboxRecord, written } from './sandbox-record.ts';

export const lifetimeMs = 24 * 60 * 60 * 1000;
// sun_path is 108 bytes with its terminating zero.
const maxSocketPathBytes = 107;

export interface MadeRecord {
  readonly record: SandboxRecord;
  /** Shown once, to whoever registers; null without the proof `secret`. */
  readonly secret: string | null;
}

/** `gateway`: the name of this one, where others share its store. */
export function makeRecord(
  asked: RegistrationRequest,
  socketDirectory: string,
  nowMs: number,
  gateway: string | null = null,
): MadeRecord {
  const id = asked.id ?? `sbx_${randomBytes(8).toString('hex')}`;
  const secret = asked.proof.includes('secret') ? randomBytes(32).toString('base64url') : null;
  const stored = {
    id,
    container_ip: asked.containerIp,
    container_id: asked.containerId,
    repos: [...asked.repos],
    auth_mode: asked.authMode,
    allowed_branches: [...asked.allowedBranches],
    credentials: asked.credentials === null ? null : [...asked.credentials],
    proof: [...asked.proof],
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(asked.expiresAtMs ?? nowMs + lifetimeMs).toISOString(),
    expiry_is_final: asked.expiresAtMs !== null,
    secret_sha256: secret === null ? null : hashSecret(secret),
    container: asked.container === null ? null : written(asked.container),
    certificate_binding: asked.proof.includes('mtls') ? randomBytes(16).toString('hex') : null,
    ...(gateway !== null && { gateway }),
  };
  // A door in a namespace is the socket: there is no second one.
  const socketPath = asked.namespacePid === null ? socketPathOf(socketDirectory, stored) : null;
  const record = new SandboxRecord(stored, socketPath, asked.namespacePid, asked.hostPorts);
  // Docker has just been asked.
  if (asked.container !== null) record.confirmed = true;
  return { record, secret };
}

/** Null without the proof `socket`. */
export function socketPathOf(
  socketDirectory: string,
  { id, proof }: { readonly id: string; readonly proof: readonly ProofKind[] },
): string | null {
  if (!proof.includes('socket')) return null;
  const path = join(socketDirectory, `${id}.sock`);
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return path;
  throw new RegistrationError('sandbox.invalid', `the socket path ${path} is longer than a Unix socket may have`, {
    hint: `At most ${maxSocketPathBytes} bytes: choose a shorter id, or a shorter SALLYPORT_HOME.`,
  });
}
