// Credential values on their way from one process of this gateway to another, over the channel that only these two hold:
// what was set by hand, and every value that answers and requests are searched for. Only this room can reveal or make one;
// whoever carries them must neither write them down nor send them anywhere else.
import { reveal, Secret } from '../../path/secret.ts';
import type { KnownSecrets } from './scrub/known-secrets.ts';
import type { SecretStore } from './secret-store.ts';

export interface HandedSecret {
  readonly name: string;
  readonly value: string;
  readonly login: boolean;
  readonly expiresAtMs: number | null;
}

/** By credential. */
export function valuesSetByHand(secrets: Pick<SecretStore, 'setByHand'>): [name: string, value: string][] {
  return secrets.setByHand().map((secret) => [secret.name, reveal(secret)]);
}

export function carryKnown(known: KnownSecrets): HandedSecret[] {
  return known.all().map(carry);
}

/** From now on `send` hears of every value that is new here, those of one turn together. */
export function tellOfNew(known: KnownSecrets, send: (secrets: readonly HandedSecret[]) => void): void {
  let fresh: HandedSecret[] = [];
  known.onNew = (secret) => {
    fresh.push(carry(secret));
    if (fresh.length > 1) return;
    // Before anything that is read or written next: a value must be known everywhere before it can come back.
    queueMicrotask(() => {
      const told = fresh;
      fresh = [];
      send(told);
    });
  };
}

/** What another process knows. It is not told to anybody from here. */
export function noteCarried(known: KnownSecrets, carried: readonly HandedSecret[]): void {
  const { onNew } = known;
  known.onNew = null;
  try {
    for (const { name, value, ...about } of carried) known.note(new Secret(name, value, about));
  } finally {
    known.onNew = onNew;
  }
}

function carry(secret: Secret): HandedSecret {
  const { name, login, expiresAtMs } = secret;
  return { name, value: reveal(secret), login, expiresAtMs };
}
