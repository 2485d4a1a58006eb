// Turns a record into what a store keeps of it (a body that only this file reads, and the claims that no other registration
// may have) and back. Accepts from a store only the exact form that was written.
import type { StoredRegistration } from '../../../path/shared-store.ts';
import { type SandboxRecord, type StoredSandbox, storedSandbox } from './sandbox-record.ts';

/** Where an address belongs: null, it is the same sandbox everywhere; else to what is seen from that gateway. */
export type AddressScope = string | null;

export function toRegistration(record: SandboxRecord, expiresAtMs = record.expiresAtMs): StoredRegistration {
  const { id, claims } = record;
  return { id, claims, expiresAtMs, body: JSON.stringify(record.toStored()) };
}

/** A sandbox as the file of a gateway has it. Throws an Error that says what is wrong with it. */
export function readStored(value: unknown): StoredRegistration {
  const stored = parse(value);
  const expiresAtMs = Date.parse(stored.expires_at);
  return { id: stored.id, claims: claimsOf(stored, null), expiresAtMs, body: JSON.stringify(stored) };
}

/** Throws when it is not what a registry has written. An end that is not final moves without the body. */
export function readRegistered({ id, body, expiresAtMs }: StoredRegistration): StoredSandbox {
  const stored = parse(JSON.parse(body));
  if (stored.id !== id) throw new Error(`the registration of ${id} in the store is that of ${stored.id}`);
  return stored.expiry_is_final ? stored : { ...stored, expires_at: new Date(expiresAtMs).toISOString() };
}

/** Once made, they stay as they are. */
export function claimsOf(
  { id, container_ip: address, container_id: container }: StoredSandbox,
  scope: AddressScope,
): string[] {
  const at = scope === null ? '' : ` at ${scope}`;
  return [
    `id ${id}`,
    ...(address === null ? [] : [`ip ${address}${at}`]),
    ...(container === null ? [] : [`container ${container}`]),
  ];
}

function parse(value: unknown): StoredSandbox {
  const parsed = storedSandbox.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  throw new Error(`${first!.path.join('.') || 'the sandbox'}: ${first!.message}`, { cause: parsed.error });
}
