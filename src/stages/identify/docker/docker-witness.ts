// Vouches for sandboxes that are containers: asks Docker when one is registered and on its first traffic, and hears when it
// dies, is paused, leaves its network or is started anew, which ends its registration at once. While Docker cannot be heard
// nothing is believed: a record is then unconfirmed, and is not served until Docker has said again that all is as it was.
// Guards: threats.md T1

import { callerAddress } from '../../../kit/canonical-address.ts';
import type { DockerApi } from '../../../kit/docker/docker-api.ts';
import { DockerError } from '../../../kit/docker/docker-error.ts';
import { DockerEvents } from '../../../kit/docker/docker-events.ts';
import type { DockerContainer, DockerEvent } from '../../../kit/docker/docker-shapes.ts';
import type { Log } from '../../../kit/text/log.ts';
import type { RegistrationRequest } from '../registry/registration.ts';
import { RegistrationError } from '../registry/registration-error.ts';
import type { SandboxRegistry } from '../registry/registry.ts';
import type { SandboxRecord } from '../registry/sandbox-record.ts';
import { type GatewayPlace, nameOf, settleRegistration, whatChanged } from './container-facts.ts';

export interface WitnessParts {
  readonly api: DockerApi;
  readonly registry: SandboxRegistry;
  readonly log: Log;
  /** Where this gateway is: it is not its own sandbox. */
  readonly gateway: () => GatewayPlace;
  /** Something happened to a container, and what it means for its registration is done. */
  readonly onContainer: (id: string) => void;
  /** Docker is heard again: whatever happened before was not. */
  readonly onUp: () => void;
}

/** When a question that Docker did not answer is put again, though nobody has called. */
const askAgainMs = 2_000;

/** These alone end a registration without another question. */
const endings: Readonly<Record<string, string>> = {
  die: 'has ended',
  destroy: 'was removed',
  pause: 'was paused',
};

export class DockerWitness {
  readonly #parts: WitnessParts;
  readonly #events: DockerEvents;
  /** Asked about since their first traffic. */
  readonly #met = new WeakSet<SandboxRecord>();
  readonly #asking = new Map<SandboxRecord, Promise<void>>();
  /** When the question was put to which Docker answered that all is well: what happened before is in the answer. */
  readonly #askedAtMs = new WeakMap<SandboxRecord, number>();

  readonly #ended = new WeakSet<SandboxRecord>();
  /** Of these the log knows already that they could not be confirmed. */
  readonly #complained = new WeakSet<SandboxRecord>();
  /** These are asked about again in a moment. */
  readonly #later = new Set<SandboxRecord>();
  #silent = false;
  #interruptions = 0;
  #closed = false;

  constructor(parts: WitnessParts) {
    this.#parts = parts;
    this.#events = new DockerEvents({
      api: parts.api,
      onEvent: (event) => this.#hear(event),
      onUp: () => {
        if (this.#silent) parts.log.info('Docker is heard again');
        this.#silent = false;
        for (const record of this.#records()) void this.ask(record);
        parts.onUp();
      },
      onDown: (error) => {
        // Once: a sandbox that calls and calls must not fill the log.
        if (!this.#silent) parts.log.warn('Docker is not heard: containers are not served until it is', { error });
        this.#silent = true;
        this.#interruptions++;
        for (const record of this.#records()) record.confirmed = false;
      },
    });
  }

  get isUp(): boolean {
    return this.#events.isUp;
  }

  get failure(): DockerError | null {
    return this.#events.failure;
  }

  /** Begins to hear; goes on trying if it cannot. */
  start(): void {
    this.#events.ready().catch(() => {});
  }

  /** Nothing is confirmed by it from now on. */
  close(): void {
    this.#closed = true;
    this.#interruptions++;
    this.#events.close();
    for (const record of this.#records()) record.confirmed = false;
  }

  /** A registration that names a container, with what Docker says of it. Throws a RegistrationError. */
  async resolve(asked: RegistrationRequest, policyNetwork: string | null): Promise<RegistrationRequest> {
    const { api, gateway } = this.#parts;
    try {
      // First heard, then asked: nothing that happens from here on is missed.
      await this.#events.ready();
      const container = await api.inspectContainer(asked.containerId!);
      const settled = settleRegistration(asked, container, policyNetwork, gateway());
      this.#warnOfOtherNetworks(container, settled.container?.network ?? null);
      return settled;
    } catch (error) {
      throw error instanceof DockerError ? asRegistrationError(error, asked.containerId!) : error;
    }
  }

  /** Whether the caller at this address must wait for Docker's word; null: it need not. Never rejects. */
  confirm(address: string): Promise<void> | null {
    const canonical = callerAddress(address);
    const record = canonical === null ? undefined : this.#parts.registry.lookUpAddress(canonical);
    if (record === undefined || record.containerId === null || !this.#parts.registry.isOwn(record)) return null;
    if (record.confirmed && this.#met.has(record)) return null;
    return this.ask(record).then(() => {
      if (record.confirmed) this.#met.add(record);
    });
  }

  /** Whether it was this witness that ended the registration. */
  hasEnded(record: SandboxRecord): boolean {
    return this.#ended.has(record);
  }

  /** Confirms the record, unregisters it, or leaves it unconfirmed when Docker does not answer. Never rejects. */
  ask(record: SandboxRecord): Promise<void> {
    const under = this.#asking.get(record);
    if (under !== undefined) return under;
    const asking = this.#ask(record).finally(() => this.#asking.delete(record));
    this.#asking.set(record, asking);
    return asking;
  }

  async #ask(record: SandboxRecord): Promise<void> {
    const { api, log } = this.#parts;
    try {
      for (;;) {
        if (this.#closed) return;
        // Registered by an answer from before Docker fell silent.
        if (!this.#events.isUp) record.confirmed = false;
        await this.#events.ready();
        const interruptions = this.#interruptions;
        const askedAtMs = Date.now();
        const container = await api.inspectContainer(record.containerId!);
        // A newer registration has taken its place and decides.
        if (this.#closed) return;
        const change = whatChanged(record, container);
        if (change !== null) return this.#end(record, change);
        // An answer from before an interruption says nothing of what was not heard since.
        if (interruptions !== this.#interruptions) continue;
        this.#askedAtMs.set(record, askedAtMs);
        record.container = { ...record.container!, name: nameOf(container) };
        record.confirmed = true;
        this.#complained.delete(record);
        return;
      }
    } catch (error) {
      if (this.#closed) return;
      if (error instanceof DockerError && error.fault === 'unknown') return this.#end(record, 'is gone');
      record.confirmed = false;
      this.#askLater(record);
      if (this.#complained.has(record)) return;
      this.#complained.add(record);
      log.warn('Docker could not be asked about a container: it is not served', { id: record.id, error });
    }
  }

  /** Only traffic by address asks by itself, and not every sandbox is known by one. */
  #askLater(record: SandboxRecord): void {
    if (this.#later.has(record)) return;
    this.#later.add(record);
    const again = (): void => {
      this.#later.delete(record);
      // Unheard, all are asked about when Docker is heard again.
      if (this.isUp && !record.confirmed && this.#parts.registry.holds(record)) void this.ask(record);
    };
    setTimeout(again, askAgainMs).unref();
  }

  /** Who it is, is known all the same. But an operator who gave it a door may believe that it has no other. */
  #warnOfOtherNetworks(container: DockerContainer, network: string | null): void {
    const others = Object.keys(container.NetworkSettings.Networks).filter(
      (name) => name !== network && name !== 'none',
    );
    if (others.length === 0) return;
    this.#parts.log.warn('a container is on other networks too: what they reach, it reaches past the door', {
      container: nameOf(container),
      networks: others.join(', '),
    });
  }

  #hear(event: DockerEvent): void {
    const { name, container } = event.Actor.Attributes;
    const id = event.Type === 'network' ? container : event.Actor.ID;
    if (id === undefined) return;
    for (const record of this.#records().filter(({ containerId }) => containerId === id)) {
      const ending = event.Type === 'network' ? leaving(event, name, record) : (endings[event.Action] ?? null);
      // Of what happened before the last question, the answer knows more.
      const isNews = event.timeNano / 1e6 >= (this.#askedAtMs.get(record) ?? Date.parse(record.createdAt));
      if (ending !== null && isNews) this.#end(record, ending);
      else void this.#askAgain(record);
    }
    this.#parts.onContainer(id);
  }

  /** A question that is under way may have been answered before this happened. */
  async #askAgain(record: SandboxRecord): Promise<void> {
    await this.#asking.get(record);
    if (this.#parts.registry.holds(record)) await this.ask(record);
  }

  #end(record: SandboxRecord, why: string): void {
    const { registry, log } = this.#parts;
    record.confirmed = false;
    this.#ended.add(record);
    // Another one may have its id by now.
    if (!registry.holds(record)) return;
    log.info('a sandbox is unregistered: its container is not what it was', {
      id: record.id,
      container: record.container?.name ?? record.containerId,
      why: `the container ${why}`,
    });
    registry.remove(record.id).catch((error: unknown) => log.error('the registry could not be written', { error }));
  }

  #records(): SandboxRecord[] {
    // Those of other gateways are on other machines, which this Docker knows nothing of.
    return this.#parts.registry.listOwn().filter(({ containerId }) => containerId !== null);
  }
}

function leaving(event: DockerEvent, network: string | undefined, record: SandboxRecord): string | null {
  return event.Action === 'disconnect' && network === record.container?.network
    ? `has left the network ${network}`
    : null;
}

function asRegistrationError(error: DockerError, container: string): RegistrationError {
  if (error.fault === 'unknown') {
    return new RegistrationError('container.refused', `Docker has no container ${container}`, {
      hint: 'See what runs: docker ps',
      cause: error,
    });
  }
  return new RegistrationError('docker.unavailable', `${container} cannot be registered: ${error.message}`, {
    hint: `${error.hint} A container is registered only when Docker confirms it.`,
    cause: error,
  });
}
