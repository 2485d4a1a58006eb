// Sandboxes that are containers, put together: the witness that asks Docker, the labels that register, and the policy that
// says where Docker is. Docker is left alone while no sandbox is a container and labels are off.
import { hostname, networkInterfaces } from 'node:os';
import { canonicalAddress } from '../../kit/canonical-address.ts';
import { DockerApi } from '../../kit/docker/docker-api.ts';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { DockerWitness } from '../../stages/identify/docker/docker-witness.ts';
import { LabelledContainers, type LabelParts } from '../../stages/identify/docker/labelled-containers.ts';
import type { RegistrationRequest } from '../../stages/identify/registry/registration.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../../stages/identify/registry/sandbox-record.ts';

export interface DockerParts {
  readonly registry: SandboxRegistry;
  readonly policy: () => CompiledPolicy;
  readonly log: Log;
}

export interface DockerStatus {
  readonly live: boolean;
  readonly detail: string;
}

/** For how long Docker is still listened to when no sandbox is a container any more. */
const restAfterMs = 5_000;

export class DockerSandboxes {
  readonly #parts: DockerParts;
  #witness: DockerWitness | null = null;
  #api: DockerApi | null = null;
  #labels: LabelledContainers | null = null;
  #labelsWereOn = false;
  #rest: NodeJS.Timeout | null = null;
  readonly #undo: (() => void)[] = [];

  constructor(parts: DockerParts) {
    this.#parts = parts;
  }

  /** When doors can be opened. `register`: as the admin API does it, doors and all, for containers with labels. */
  start(register: LabelParts['register']): void {
    const { registry, policy, log } = this.#parts;
    this.#labels = new LabelledContainers({
      api: () => this.#open().api,
      registry,
      register,
      isOn: () => policy().docker.registerLabelled,
      hasEnded: (record) => this.#witness?.hasEnded(record) ?? false,
      log,
    });
    this.#undo.push(
      registry.onRegistered((record) => {
        // Once more, now that it is in the registry: what happened to it since the first answer had nobody to go to.
        if (record.containerId !== null) void this.#open().witness.ask(record);
      }),
      registry.onRemoved((id) => {
        this.#labels?.removed(id);
        this.#restSoon();
      }),
    );
    this.configure();
  }

  /** The policy may have changed: another socket is asked anew about every container. */
  configure(): void {
    const { docker } = this.#parts.policy();
    const labelsAreNew = docker.registerLabelled && !this.#labelsWereOn;
    this.#labelsWereOn = docker.registerLabelled;
    if (this.#api !== null && this.#api.socket !== docker.socket) this.#close();
    if (!this.#isNeeded()) {
      this.#restSoon();
      return;
    }
    const { witness } = this.#open();
    witness.start();
    if (labelsAreNew && witness.isUp) void this.#labels?.considerAll();
  }

  stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
    if (this.#rest !== null) clearTimeout(this.#rest);
    this.#close();
  }

  /** The registry's witness: a registration that names a container, with what Docker says of it in it. */
  async resolve(asked: RegistrationRequest): Promise<RegistrationRequest> {
    try {
      return await this.#open().witness.resolve(asked, this.#parts.policy().docker.network);
    } finally {
      this.#restSoon();
    }
  }

  /** For the doors: null when the caller at this address need not wait for Docker's word. */
  confirm(address: string): Promise<void> | null {
    return this.#witness === null ? null : this.#witness.confirm(address);
  }

  /** For the list of what is live. */
  status(): DockerStatus {
    const labels = this.#parts.policy().docker.registerLabelled ? '; labels register' : '';
    if (this.#witness === null || !this.#isNeeded())
      return { live: true, detail: 'not used: no sandbox is a container' };
    if (this.#witness.isUp) {
      const records = this.#containers();
      const count = records.filter(({ confirmed }) => confirmed).length;
      // Those that Docker could not be asked about are not served.
      const many = count === records.length ? `${count}` : `${count} of ${records.length}`;
      return { live: true, detail: `${many} container${records.length === 1 ? '' : 's'} confirmed by Docker${labels}` };
    }
    const why = this.#witness.failure?.message ?? 'Docker is being asked';
    return { live: false, detail: `${why}: no container is served` };
  }

  #open(): { witness: DockerWitness; api: DockerApi } {
    const { policy, log } = this.#parts;
    this.#api ??= new DockerApi(policy().docker.socket);
    this.#witness ??= new DockerWitness({
      api: this.#api,
      registry: this.#parts.registry,
      log,
      gateway: () => ({ addresses: ownAddresses(), hostname: hostname() }),
      onContainer: (id) => void this.#labels?.consider(id),
      onUp: () => void this.#labels?.considerAll(),
    });
    return { witness: this.#witness, api: this.#api };
  }

  #close(): void {
    this.#witness?.close();
    this.#witness = null;
    this.#api = null;
  }

  #restSoon(): void {
    if (this.#witness === null || this.#rest !== null) return;
    this.#rest = setTimeout(() => {
      this.#rest = null;
      if (!this.#isNeeded()) this.#close();
    }, restAfterMs).unref();
  }

  #isNeeded(): boolean {
    return this.#parts.policy().docker.registerLabelled || this.#containers().length > 0;
  }

  #containers(): SandboxRecord[] {
    return this.#parts.registry.listOwn().filter(({ containerId }) => containerId !== null);
  }
}

function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.flatMap(({ address }) => canonicalAddress(address) ?? []);
}
