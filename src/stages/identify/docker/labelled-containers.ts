// Containers that ask for their registration by labels, where the policy has opted in: registered when they start, again
// after a restart, and for those that run already when Docker is first heard. Their end is the witness's business.
import type { DockerApi } from '../../../kit/docker/docker-api.ts';
import { DockerError } from '../../../kit/docker/docker-error.ts';
import type { DockerContainer } from '../../../kit/docker/docker-shapes.ts';
import type { Log } from '../../../kit/text/log.ts';
import type { SandboxRegistry } from '../registry/registry.ts';
import type { SandboxRecord } from '../registry/sandbox-record.ts';
import { nameOf } from './container-facts.ts';
import { registrationFromLabels } from './container-labels.ts';
import { refuseLabelsOfImage } from './image-labels.ts';

export interface LabelParts {
  readonly api: () => DockerApi;
  readonly registry: SandboxRegistry;
  /** As the admin API does it, doors and all. */
  readonly register: (input: unknown) => Promise<{ readonly record: { readonly id: string } }>;
  /** Whether the policy wants labels to register. */
  readonly isOn: () => boolean;
  readonly hasEnded: (record: SandboxRecord) => boolean;
  readonly log: Log;
}

export class LabelledContainers {
  readonly #parts: LabelParts;
  /** By id of the sandbox: those whose container has labels, also from before the gateway was started. */
  readonly #labelled = new Map<string, SandboxRecord>();
  /** By container, the life of it that somebody unregistered: what a person has ended is not begun again by itself. */
  readonly #dismissed = new Map<string, string>();
  /** By container, what was said of a life of it: it is not said again. */
  readonly #complaints = new Map<string, string>();
  /** By container: one question after another. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(parts: LabelParts) {
    this.#parts = parts;
  }

  /** Every container that runs now. Never rejects. */
  async considerAll(): Promise<void> {
    const { api, isOn, log } = this.#parts;
    if (!isOn()) return;
    try {
      const labelled = (await api().listContainers()).filter(({ Labels }) => Object.keys(Labels).length > 0);
      const there = new Set(labelled.map(({ Id }) => Id));
      for (const id of [...this.#dismissed.keys(), ...this.#complaints.keys()]) if (!there.has(id)) this.#forget(id);
      await Promise.all(labelled.map(({ Id }) => this.consider(Id)));
    } catch (error) {
      log.warn('the containers that run could not be listed', { error });
    }
  }

  /** Something may have happened to this container. Never rejects. */
  consider(containerId: string): Promise<void> {
    if (!this.#parts.isOn()) return Promise.resolve();
    const turn = (this.#turns.get(containerId) ?? Promise.resolve())
      .then(() => this.#look(containerId))
      .finally(() => {
        if (this.#turns.get(containerId) === turn) this.#turns.delete(containerId);
      });
    this.#turns.set(containerId, turn);
    return turn;
  }

  /** A sandbox is not registered any more. */
  removed(sandboxId: string): void {
    const record = this.#labelled.get(sandboxId);
    if (record === undefined) return;
    this.#labelled.delete(sandboxId);
    const { registry, hasEnded } = this.#parts;
    if (hasEnded(record)) {
      // Its id may be what another one was refused for: the next container of the same service.
      for (const refused of this.#complaints.keys()) void this.consider(refused);
    } else if (registry.hasExpired(record) && !record.expiryIsFinal) {
      // It runs, and was quiet for a day.
      void this.consider(record.containerId!);
    } else this.#dismissed.set(record.containerId!, record.container!.startedAt);
  }

  async #look(containerId: string): Promise<void> {
    const { api, registry, register, log } = this.#parts;
    let container: DockerContainer;
    try {
      container = await api().inspectContainer(containerId);
    } catch (error) {
      // Gone, or Docker is: then all are looked at when it is heard again.
      if (error instanceof DockerError && error.fault === 'unknown') this.#forget(containerId);
      else log.debug('a container could not be looked at', { container: containerId, error });
      return;
    }
    const { Running: running, Paused: paused, Restarting: restarting, StartedAt: startedAt } = container.State;
    const labels = container.Config.Labels;
    if (!running) this.#forget(containerId);
    if (!running || paused || restarting || Object.keys(labels).length === 0) return;
    const held = registry.list().find((record) => record.containerId === container.Id);
    if (held !== undefined) this.#labelled.set(held.id, held);
    if (held !== undefined || this.#dismissed.get(container.Id) === startedAt) return;
    const name = nameOf(container);
    try {
      await refuseLabelsOfImage(api(), container);
      const { record } = await register(registrationFromLabels({ id: container.Id, name, labels }));
      const made = registry.lookUpId(record.id);
      if (made !== undefined) this.#labelled.set(record.id, made);
      this.#complaints.delete(container.Id);
      log.info('a container is registered by its labels', { container: name, id: record.id });
    } catch (error) {
      this.#complain(container, error);
    }
  }

  /** Containers come and go, and each start is a life of its own. */
  #forget(containerId: string): void {
    this.#dismissed.delete(containerId);
    this.#complaints.delete(containerId);
  }

  #complain({ Id: id, Name: name, State: { StartedAt: life } }: DockerContainer, error: unknown): void {
    const container = nameOf({ Name: name });
    const why = error instanceof Error ? error.message : String(error);
    if (this.#complaints.get(id) === life + why) return;
    this.#complaints.set(id, life + why);
    const hint = error instanceof Error && 'hint' in error ? error.hint : '';
    this.#parts.log.warn('a container is not registered by its labels', { container, why, ...(hint ? { hint } : {}) });
  }
}
