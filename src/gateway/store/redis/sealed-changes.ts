// How registrations and what is said about them look in Redis: JSON, sealed for the key or the channel it belongs to. What
// does not open, or is not what it should be, is nobody's word: it reads as null.

import type { SealedBox } from '../../../kit/sealed-box.ts';
import type { StoredRegistration } from '../../../path/shared-store.ts';
import type { VersionedRegistration } from '../known-registrations.ts';

export type Announced =
  | { readonly kind: 'put'; readonly from: string; readonly put: VersionedRegistration }
  | { readonly kind: 'gone'; readonly from: string; readonly id: string; readonly version: number };

export interface Acknowledged {
  readonly from: string;
  readonly version: number;
}

export interface SealedChanges {
  sealRegistration(given: VersionedRegistration): string;
  openRegistration(id: string, text: string): VersionedRegistration | null;
  sealChange(change: Announced): string;
  openChange(text: string): Announced | null;
  /** `to`: the instance that waits for it. */
  sealAcknowledgement(to: string, said: Acknowledged): string;
  openAcknowledgement(to: string, text: string): Acknowledged | null;
}

export function createSealedChanges(seal: SealedBox, prefix: string): SealedChanges {
  const wrap = (name: string, value: unknown) =>
    seal.seal(prefix + name, Buffer.from(JSON.stringify(value))).toString('base64');
  const unwrap = (name: string, text: string): unknown => {
    const plain = seal.open(prefix + name, Buffer.from(text, 'base64'));
    // What opens was written by a gateway of ours, so it is JSON.
    return plain === null ? null : JSON.parse(plain.toString());
  };
  return {
    sealRegistration: (given) => wrap(`registration:${given.registration.id}`, given),
    openRegistration(id, text) {
      const found = unwrap(`registration:${id}`, text);
      return isVersioned(found) && found.registration.id === id ? found : null;
    },
    sealChange: (change) => wrap('changes', change),
    openChange(text) {
      const found = unwrap('changes', text);
      return isAnnounced(found) ? found : null;
    },
    sealAcknowledgement: (to, said) => wrap(`acknowledged:${to}`, said),
    openAcknowledgement(to, text) {
      const found = unwrap(`acknowledged:${to}`, text);
      return isRecord(found) && typeof found.version === 'number' ? (found as unknown as Acknowledged) : null;
    },
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isAnnounced(value: unknown): value is Announced {
  if (!isRecord(value) || typeof value.from !== 'string') return false;
  if (value.kind === 'put') return isVersioned(value.put);
  return value.kind === 'gone' && typeof value.id === 'string' && typeof value.version === 'number';
}

function isVersioned(value: unknown): value is VersionedRegistration {
  return isRecord(value) && typeof value.version === 'number' && isStored(value.registration);
}

/** A later release may write more than this one knows; what this one needs must be there. */
function isStored(value: unknown): value is StoredRegistration {
  if (!isRecord(value) || typeof value.id !== 'string' || typeof value.body !== 'string') return false;
  return typeof value.expiresAtMs === 'number' && Array.isArray(value.claims);
}
