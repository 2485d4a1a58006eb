// The sandboxes of a registry by what they are found by: id, address, container. An address counts only for sandboxes of
// this gateway, because the same address may be somebody else on another machine; unless the operator has said that it is
// not. Guards: threats.md T1
import { isFoundByName, type SandboxRecord } from './sandbox-record.ts';

export class SandboxIndex {
  readonly #gateway: string | null;
  readonly #sharedAddresses: () => boolean;
  /** In order of registration. */
  readonly #byId = new Map<string, SandboxRecord>();
  readonly #byAddress = new Map<string, SandboxRecord>();
  /** Those of other gateways: each of them may have its own at an address. */
  readonly #elsewhere = new Map<string, Set<SandboxRecord>>();
  #foundByName = 0;

  /** `gateway`: the name of this one; null: there is no other. */
  constructor(gateway: string | null, sharedAddresses: () => boolean) {
    this.#gateway = gateway;
    this.#sharedAddresses = sharedAddresses;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Whether some sandbox can be found by what a caller sends alone, so that a caller is worth a challenge. */
  get anyFoundByName(): boolean {
    return this.#foundByName > 0;
  }

  /** Registered with this gateway: its doors, its Docker and its addresses are the ones it was registered with. */
  isOwn({ gateway }: SandboxRecord): boolean {
    return gateway === null || gateway === this.#gateway;
  }

  /** By what it sends, whatever address it has. Where its address cannot find it, its name can, and the address must fit. */
  isFoundByName(record: SandboxRecord): boolean {
    return isFoundByName(record) || (!this.isOwn(record) && record.proof.includes('secret'));
  }

  byId(id: string): SandboxRecord | undefined {
    return this.#byId.get(id);
  }

  /** `address` in canonical form. */
  byAddress(address: string): SandboxRecord | undefined {
    const own = this.#byAddress.get(address);
    if (own !== undefined || this.#elsewhere.size === 0 || !this.#sharedAddresses()) return own;
    const others = this.#elsewhere.get(address);
    // Of two that claim to be at one address, neither is believed.
    return others?.size === 1 ? others.values().next().value : undefined;
  }

  byContainer(containerId: string): SandboxRecord | undefined {
    for (const record of this.#byId.values()) if (record.containerId === containerId) return record;
    return undefined;
  }

  all(): MapIterator<SandboxRecord> {
    return this.#byId.values();
  }

  insert(record: SandboxRecord): void {
    this.#byId.set(record.id, record);
    if (this.isFoundByName(record)) this.#foundByName++;
    const address = record.containerIp;
    if (address === null) return;
    if (this.isOwn(record)) this.#byAddress.set(address, record);
    else this.#elsewhere.set(address, (this.#elsewhere.get(address) ?? new Set()).add(record));
  }

  delete(record: SandboxRecord): void {
    this.#byId.delete(record.id);
    if (this.isFoundByName(record)) this.#foundByName--;
    const address = record.containerIp;
    if (address === null) return;
    if (this.#byAddress.get(address) === record) this.#byAddress.delete(address);
    const others = this.#elsewhere.get(address);
    others?.delete(record);
    if (others?.size === 0) this.#elsewhere.delete(address);
  }
}
