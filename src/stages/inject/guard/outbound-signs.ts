// What no request may carry out: placeholders of every credential (except to its own hosts), and every real value that
// this process has held. Put together once for a policy; what becomes known later is added, not built anew.

import { placeholderSigns } from '../../../kit/text/placeholder.ts';
import { reveal, type Secret } from '../../../path/secret.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { isOvergrown, type KnownSecrets } from '../scrub/known-secrets.ts';
import { SecretSearch } from '../scrub/secret-search.ts';

export interface Sign {
  readonly credential: string;
  readonly kind: 'placeholder' | 'value';
}

/** A shorter value is a word that requests hold anyway: to refuse them all would be worse than to let it pass. */
const minValueBytes = 8;

export class OutboundSigns {
  readonly #known: KnownSecrets;
  readonly #policy: () => CompiledPolicy;
  #builtFor: CompiledPolicy | null = null;
  #builtAt = -1;
  #added = new Set<Secret>();
  #asSent = new SecretSearch<Sign>();
  #folded = new SecretSearch<Sign>();
  #version = 0;

  constructor(known: KnownSecrets, policy: () => CompiledPolicy) {
    this.#known = known;
    this.#policy = policy;
  }

  /** Finds them as they are, and in every form that the search knows. */
  get asSent(): SecretSearch<Sign> {
    this.#refresh();
    return this.#asSent;
  }

  /** The same for what knows no upper case: names of hosts and fields. */
  get folded(): SecretSearch<Sign> {
    this.#refresh();
    return this.#folded;
  }

  /** Another whenever there is something else to look for. */
  get version(): number {
    this.#refresh();
    return this.#version;
  }

  #refresh(): void {
    const policy = this.#policy();
    const { version } = this.#known;
    if (policy === this.#builtFor && version === this.#builtAt) return;
    const all = this.#known.all();
    if (policy !== this.#builtFor || isOvergrown(this.#added.size, all.length)) this.#begin(policy);
    for (const secret of all) {
      if (this.#added.has(secret)) continue;
      this.#added.add(secret);
      const value = reveal(secret);
      if (Buffer.byteLength(value) >= minValueBytes) this.#add(value, { credential: secret.name, kind: 'value' });
    }
    this.#builtAt = version;
    this.#version++;
  }

  #begin(policy: CompiledPolicy): void {
    this.#builtFor = policy;
    this.#added = new Set();
    this.#asSent = new SecretSearch();
    this.#folded = new SecretSearch();
    for (const credential of policy.credentials.keys()) {
      for (const sign of placeholderSigns(credential)) this.#add(sign, { credential, kind: 'placeholder' });
    }
  }

  #add(text: string, sign: Sign): void {
    const lower = text.toLowerCase();
    this.#asSent.add(Buffer.from(text), sign);
    this.#folded.add(Buffer.from(lower), sign);
    // Hexadecimal knows no upper case either, and is not that of the lower-case text.
    if (lower !== text) this.#folded.add(Buffer.from(text), sign);
  }
}
