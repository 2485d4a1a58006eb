// The doors that the configuration names (`listen`), opened in one go: the proxy door, the one for certificates, and those
// on internal networks. What is open it knows by name, for whoever asks what is live.

import { ownAddress } from '../../kit/process/own-address.ts';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy, ListenSettings } from '../../policy/compiled.ts';
import type { Doors } from '../../stages/accept/doors/doors.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import { IdentityCa } from '../../stages/accept/tls/identity-ca.ts';
import { createIdentityRenewal } from '../../stages/accept/tls/identity-renewal.ts';
import type { LeafMinter } from '../../stages/accept/tls/leaf.ts';
import { identifyForRenewal } from '../../stages/identify/identify-caller.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { ReservedPorts } from '../ports/reserved-ports.ts';
import type { OpenDoors } from '../workers/worker-verbs.ts';
import { openGatewayDoors } from './open-gateway-doors.ts';

export interface ConfiguredDoorParts {
  readonly doors: Doors;
  readonly registry: SandboxRegistry;
  readonly ca: Ca;
  readonly leaves: LeafMinter;
  readonly identityCaDirectory: string;
  readonly policy: () => CompiledPolicy;
  /** Hears where doors listen: no sandbox is led there. */
  readonly reserved: Pick<ReservedPorts, 'note'>;
  readonly log: Log;
}

export class ConfiguredDoors {
  readonly #parts: ConfiguredDoorParts;
  #proxies: string[] = [];
  #mtls: string[] = [];
  #gateways: string[] = [];
  /** Signs for sandboxes that prove themselves by certificate; null: there is no door for them. */
  identityCa: IdentityCa | null = null;

  constructor(parts: ConfiguredDoorParts) {
    this.#parts = parts;
  }

  /** Whoever fails half-way closes all doors. */
  async open(listen: ListenSettings): Promise<void> {
    for (const { host, port } of listen.proxy) {
      this.#proxies.push(await this.#parts.doors.openTcp(ownAddress(host), port));
    }
    if (listen.mtls.length > 0) await this.#openMtls(listen.mtls);
    const taken = [...this.#proxies, ...this.#mtls];
    this.#gateways = await openGatewayDoors({ ...this.#parts, listen: listen.gateway, taken });
    this.#reserve();
  }

  /** They are served by other processes of this gateway, and open already. */
  async servedElsewhere(open: OpenDoors): Promise<void> {
    this.#proxies = [...open.proxies];
    this.#mtls = [...open.mtls];
    this.#gateways = [...open.gateways];
    this.#reserve();
    if (open.mtls.length > 0) this.identityCa = await IdentityCa.open(this.#parts.identityCaDirectory);
  }

  #reserve(): void {
    for (const place of [...this.#proxies, ...this.#mtls, ...this.#gateways])
      this.#parts.reserved.note(place, 'a door');
  }

  /** By their kinds. */
  get byKind(): OpenDoors {
    return { proxies: this.#proxies, mtls: this.#mtls, gateways: this.#gateways };
  }

  async #openMtls(addresses: ListenSettings['mtls']): Promise<void> {
    const { doors, registry, identityCaDirectory, log } = this.#parts;
    const ca = await IdentityCa.open(identityCaDirectory);
    const renew = createIdentityRenewal({
      ca,
      identify: (caller) => {
        const record = identifyForRenewal(registry, caller);
        // Whose shim renews is there, however quiet the agent: the registration lives on as by any other traffic.
        registry.touch(record);
        return record;
      },
      report: (what, detail) => log.info(what, detail),
    });
    for (const { host, port } of addresses)
      this.#mtls.push(await doors.openMtls(ownAddress(host), port, { ca, renew }));
    this.identityCa = ca;
  }

  get isOpen(): boolean {
    return this.names.length > 0;
  }

  /** Of the first proxy door; null: there is none. */
  get proxyUrl(): string | null {
    return this.#proxies[0] === undefined ? null : `http://${this.#proxies[0]}`;
  }

  /** A proxy door by its address alone, the others with their kind. */
  get names(): string[] {
    return [
      ...this.#proxies,
      ...this.#mtls.map((address) => `mtls ${address}`),
      ...this.#gateways.map((address) => `gateway ${address}`),
    ];
  }

  /** As `sallyport up` prints them. */
  get described(): string[] {
    return [...this.#proxies.map((door) => `proxy http://${door}`), ...this.names.slice(this.#proxies.length)];
  }
}
