// Knows who asks at a DNS door that many sandboxes share. Each sandbox, known by its source address, has its own rate limit
// and cache; all unregistered callers share one and learn nothing. Memory stays bounded, whatever addresses callers claim.
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { type DnsVoice, refuseQuery, typeName } from './dns-answer.ts';
import { type DnsClient, type DnsClients, SandboxDns } from './dns-client.ts';
import { createLookup, type LookupPath, noting, RecentKeys, recordFlood, recordQuestion } from './dns-lookup.ts';
import { readQuery } from './dns-query.ts';
import { DnsRate, strangerRate } from './dns-rate.ts';

export interface DnsCallersOptions {
  /** The name of the door. */
  readonly door: string;
  readonly voice: DnsVoice;
  readonly path: LookupPath;
  /** The sandbox that is registered at this address; null: a stranger. Sorts, and permits nothing: that is the path's. */
  readonly sandboxAt: (address: string) => string | null;
  readonly confirm: (address: string) => Promise<void> | null;
  /** The sandbox at this address was given one for this name. */
  readonly given?: (address: string, name: string) => void;
}

/** More sandboxes than one gateway serves; who is forgotten begins anew. */
const maxCallers = 1024;
const maxHeldByStrangers = 8;

export function createDnsCallers({ door, voice, path, sandboxAt, confirm, given }: DnsCallersOptions): DnsClients {
  const known = new LRUCache<string, { readonly sandboxId: string; readonly client: DnsClient }>({ max: maxCallers });
  const strangers = new StrangersDns(door, voice, path);
  return {
    confirm,
    at(address) {
      const sandboxId = sandboxAt(address);
      if (sandboxId === null) return strangers;
      const before = known.get(address);
      // Another sandbox at the address of one that is gone: what was written down of the other says nothing about it.
      if (before?.sandboxId === sandboxId) return before.client;
      const lookup = noting(createLookup(path, callerAt(door, address)), (name) => given?.(address, name));
      const client = new SandboxDns(lookup, voice);
      known.set(address, { sandboxId, client });
      return client;
    },
  };
}

/**
 * A source address of a datagram is easily made up: so the answer is never longer than the question, and past a few a
 * second there is none. One question of an address is written down a minute.
 */
class StrangersDns implements DnsClient {
  held = 0;
  readonly maxHeld = maxHeldByStrangers;
  readonly #door: string;
  readonly #voice: DnsVoice;
  readonly #path: LookupPath;
  readonly #recorded = new RecentKeys(() => performance.now());
  readonly #rate: DnsRate;

  constructor(door: string, voice: DnsVoice, path: LookupPath) {
    this.#door = door;
    this.#voice = voice;
    this.#path = path;
    const flooded = (): void => recordFlood(path, callerAt(door, null), tooManyStrangers());
    this.#rate = new DnsRate(flooded, () => performance.now(), strangerRate);
  }

  answer(message: Buffer, address: string): Buffer | null {
    if (!this.#rate.take()) return null;
    const reading = readQuery(message);
    if (reading.kind === 'question' && !this.#recorded.has(address)) {
      this.#recorded.add(address);
      recordQuestion(this.#path, callerAt(this.#door, address), reading.name, typeName(reading.type));
    }
    return refuseQuery(message, this.#voice);
  }
}

function callerAt(door: string, address: string | null): Caller {
  return { door, address, socketOf: null, proxyAuthorization: null };
}

function tooManyStrangers(): Refusal {
  const { burst, perSecond } = strangerRate;
  const what = `addresses that are not registered ask more DNS questions than they are told no (${burst} at once, ${perSecond} a second)`;
  return new Refusal('limit.rate', what, {
    rule: 'built-in: DNS questions of strangers',
    hint: 'Lookups over the limit get no answer and are not recorded. Register the sandboxes that ask, or keep others off this network: sallyport firewall',
  });
}
