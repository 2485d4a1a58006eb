// Containers that ask for their registration by labels, where the policy has opted in: registered when they start, again
// after a restart, and for those that run already when Docker is first heard. Their end is the witness's business.
import type { DockerApi } from '../../../kit/docker/docker-api.ts';
import { DockerError } from '../../../kit/docker/docker-error.ts';
import { type DockerContainer, type DockerImage, labelPrefix } from '../../../kit/docker/docker-shapes.ts';
import type { Log } from '../../../kit/text/log.ts';
import type { SandboxRegistry } from '../registry/registry.ts';
import type { SandboxRecord } from '../registry/sandbox-record.ts';
import { nameOf } from './container-facts.ts';

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

// A container has the labels of its image besides those that were set for it, and Docker does not say which is which. Who
// wrote an image must not say what it may do at the door: a label that the image has with the same value registers nothing.
// Nor is such a label passed over: without it the container would be registered with more, or with less, than it says.
// Guards: threats.md T99
/** Throws a LabelError unless every label of the container was set for it. */
export async function refuseLabelsOfImage(api: DockerApi, container: DockerContainer): Promise<void> {
  const { labels: ofImage, image } = await labelsOfImage(api, container);
  const inherited = Object.entries(container.Config.Labels).filter(([name, value]) => ofImage[name] === value);
  if (inherited.length === 0) return;
  const names = inherited.map(([name]) => name).join(', ');
  throw new LabelError(
    `${names}: set by its image ${image}, and only labels that were set for the container count`,
    `Give the container another value for it (empty: none), or register it by hand: ${byHand(container)}`,
  );
}

async function labelsOfImage(
  api: DockerApi,
  container: DockerContainer,
): Promise<{ labels: Readonly<Record<string, string>>; image: string }> {
  const { Image: id, Config: config } = container;
  const image = `${config.Image} (${id.slice(0, 19)})`;
  const unseen = (why: string): LabelError =>
    new LabelError(
      `its image ${image} cannot be looked at, so whose labels it has is not known: ${why}`,
      `Make the container anew from an image that Docker has, or register it by hand: ${byHand(container)}`,
    );
  if (id === '') throw unseen('Docker, or an older `sallyport docker-view`, does not say which it is');
  const platform = container.ImageManifestDescriptor?.platform ?? null;
  let found: DockerImage;
  try {
    found = await api.inspectImage(id, platform);
  } catch (error) {
    if (error instanceof DockerError) throw unseen(error.message);
    throw error;
  }
  if (found.Config == null) throw unseen('Docker does not have its configuration');
  const isSame = platform === null || (found.Os === platform.os && found.Architecture === platform.architecture);
  const isVariant = platform === null || platform.variant === '' || found.Variant === platform.variant;
  if (!isSame || !isVariant) throw unseen('Docker tells of it for another platform');
  return { labels: found.Config.Labels, image };
}

function byHand(container: DockerContainer): string {
  return `sallyport register --container ${nameOf(container)}`;
}

// The labels of a container become a registration: `sallyport.repos=owner/a,owner/b` and the like. A label that is not known
// registers nothing, because a misspelt restriction would otherwise be none.
interface LabelledContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Label, without its prefix: it is the key of the registration; whether it is a list. */
const known = new Map([
  ['id', false],
  ['repos', true],
  ['auth_mode', false],
  ['allowed_branches', true],
  ['credentials', true],
]);

export class LabelError extends Error {
  override readonly name = 'LabelError';
  readonly hint: string;

  constructor(message: string, hint = '') {
    super(message);
    this.hint = hint;
  }
}

/** As `POST /internal/containers` takes it, which judges the values. Throws a LabelError for a label it does not know. */
export function registrationFromLabels({ id, name, labels }: LabelledContainer): Record<string, unknown> {
  const registration: Record<string, unknown> = { container_id: id };
  for (const [label, value] of Object.entries(labels)) {
    const key = label.slice(labelPrefix.length);
    const isList = known.get(key);
    if (!label.startsWith(labelPrefix) || isList === undefined) {
      const all = [...known.keys()].map((one) => labelPrefix + one);
      throw new LabelError(`${label} is not a label of Sallyport (labels: ${all.join(', ')})`);
    }
    registration[key] = isList ? listOf(value) : value.trim();
  }
  // So that it is found again under the same id after a restart.
  return { id: idFrom(name), ...registration };
}

/** Empty: an empty list, which allows nothing. */
function listOf(value: string): string[] {
  return value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** A name is longer at most, and may have capitals. */
function idFrom(name: string): string {
  return name.toLowerCase().slice(0, 63);
}
