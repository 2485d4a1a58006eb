// Sandboxes whose door is in their own network namespace: opens the door, with a CA that only this sandbox trusts or, for a
// container, the gateway's own, and takes the door away when the sandbox is gone or has got another way out, even when
// nobody says so. The key of a CA is in memory alone: here, and in the launcher of
// its sandbox.
import { readlinkSync } from 'node:fs';
import { type NamespaceHandles, sandboxProxyPort } from '../../kit/namespace-handles.ts';
import { processBirth } from '../../kit/process/process-birth.ts';
import type { HostPort } from '../../path/sandbox.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { containerNetwork } from '../../sandbox/docker/container-network.ts';
import { closeNamespaceHandles, openNamespaceDoor } from '../../sandbox/namespace/open-namespace-door.ts';
import { addedInterfaces } from '../../sandbox/namespace/process-namespaces.ts';
import type { Doors } from '../../stages/accept/doors/doors.ts';
import { LeafMinter, type SigningCa } from '../../stages/accept/tls/leaf.ts';
import { type KeptCa, makeSandboxCa, reopenSandboxCa, type SandboxCa } from '../../stages/accept/tls/sandbox-ca.ts';
import type { SandboxRecord } from '../../stages/identify/registry/sandbox-record.ts';
import { AdminError } from '../admin/admin-error.ts';
import type { ReservedPorts } from '../ports/reserved-ports.ts';

/** How soon a sandbox that was killed with its launcher is noticed. Its door leads nowhere by then: nobody is behind it. */
const lookEveryMs = 1_000;

type CertifiedCa = SigningCa & { readonly certificatePem: string };

export interface NamespaceParts {
  readonly doors: Doors;
  readonly policy: () => CompiledPolicy;
  /** Ports of the host that no sandbox is led to. */
  readonly reserved: Pick<ReservedPorts, 'whyNot'>;
  /** The gateway's own, for containers: an image or a volume carries its certificate before the container starts. */
  readonly commonCa: CertifiedCa;
  readonly isRegistered: (record: SandboxRecord) => boolean;
  readonly unregister: (id: string) => Promise<unknown>;
  /** Something the operator should hear of: a sandbox was unregistered for what became of its network. */
  readonly report: (what: string, detail: Readonly<Record<string, unknown>>) => void;
  readonly onFailure: (error: unknown) => void;
}

/** The process that holds a namespace, and when it was born, since numbers of processes come again. */
interface Holder {
  readonly pid: number;
  readonly born: string;
  readonly namespace: string;
}

export interface OpenedNamespace {
  readonly certificate: string;
  readonly ca: KeptCa | null;
}

export class NamespaceSandboxes {
  readonly #parts: NamespaceParts;
  readonly #holders = new Map<string, Holder>();
  /** What the door has inside: bound once, when it was opened. */
  readonly #doorPorts = new Map<string, ReadonlySet<number>>();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: NamespaceParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /**
   * Returns the certificate (PEM) that the sandbox is to trust, with its key where it is of a CA for this sandbox alone.
   * `known`: the one that it trusts already. Rejects with a LaunchError.
   */
  async open(record: SandboxRecord, pid: number, known: KeptCa | null = null): Promise<OpenedNamespace> {
    const holder = whoHolds(pid);
    const policy = this.#parts.policy();
    const ports = new Set([443, 80, ...[...policy.allow, ...policy.tcp].flatMap((rule) => rule.ports)]);
    const hostPorts = hostPortsOf(record, policy);
    this.#refuseReserved(hostPorts);
    const opening = openNamespaceDoor({
      pid,
      ports: [...ports],
      hostPorts: hostPorts.map(({ inside }) => inside),
      ...(record.containerId !== null && { network: containerNetwork(pid, record.containerId) }),
    });
    const { ca, leaves } = this.#trustOf(record, known, opening);
    const handles = await opening;
    // Unregistered meanwhile: nobody would ever close this door.
    if (holder === null || whatBecameOf(holder) !== null || !this.#parts.isRegistered(record)) {
      closeNamespaceHandles(handles);
      throw new Error('the sandbox was gone before its door was open');
    }
    this.#parts.doors.openNamespace(record.id, handles, (host) => leaves.contextFor(host), hostPorts);
    this.#holders.set(record.id, holder);
    const inside = hostPorts.map((one) => one.inside);
    this.#doorPorts.set(record.id, new Set([...ports, ...inside, 53, sandboxProxyPort]));
    return { certificate: ca.certificatePem, ca: 'kept' in ca ? ca.kept() : null };
  }

  #refuseReserved(hostPorts: readonly HostPort[]): void {
    for (const { port } of hostPorts) {
      const why = this.#parts.reserved.whyNot(port);
      if (why === null) continue;
      throw new AdminError(
        409,
        'host-port.reserved',
        `port ${port} of the host is not for sandboxes: ${why}`,
        'Leave it out of --host-port and run.host_ports, or let the service that you mean listen on another port.',
      );
    }
  }

  #ownCa(id: string, known: KeptCa | null): SandboxCa {
    return known === null ? makeSandboxCa(id, Date.now()) : reopenSandboxCa(id, known);
  }

  /** Ports inside at which whoever comes is this sandbox; every one that a door has where nothing is known. */
  doorPortsOf(id: string): ReadonlySet<number> {
    return this.#doorPorts.get(id) ?? new Set([53, 80, 443, sandboxProxyPort]);
  }

  forget(id: string): void {
    this.#holders.delete(id);
    this.#doorPorts.delete(id);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [id, holder] of this.#holders) {
      const change = whatBecameOf(holder);
      if (change === null) continue;
      this.#holders.delete(id);
      if (change !== 'ended') this.#parts.report('a sandbox was unregistered: its network has changed', { id, change });
      this.#parts.unregister(id).catch(this.#parts.onFailure);
    }
  }

  /** While the door is being opened. Should it fail, nobody is left with a door that opens later. */
  #trustOf(
    record: SandboxRecord,
    known: KeptCa | null,
    opening: Promise<NamespaceHandles>,
  ): { ca: CertifiedCa | SandboxCa; leaves: LeafMinter } {
    try {
      const ca = record.containerId === null ? this.#ownCa(record.id, known) : this.#parts.commonCa;
      // A minter for each door, whoever signs: its keys, TLS sessions and cache are not another sandbox's. Behind this door
      // every address is the gateway, so that a certificate for an address only makes a refusal readable.
      return { ca, leaves: new LeafMinter({ ...ca, forOneSandbox: true }) };
    } catch (error) {
      opening.then(closeNamespaceHandles, () => {});
      throw error;
    }
  }
}

/** What the sandbox was started with, and what the policy gives every sandbox of `run`. */
export function hostPortsOf(record: SandboxRecord, { run }: Pick<CompiledPolicy, 'run'>): readonly HostPort[] {
  const own = record.hostPorts;
  const ofAll = record.containerId === null ? run.hostPorts : [];
  return [...own, ...ofAll.filter(({ inside }) => !own.some((one) => one.inside === inside))];
}

/** Null when there is no such process, or it may not be looked at. */
function whoHolds(pid: number): Holder | null {
  const born = processBirth(pid);
  const namespace = networkOf(pid);
  return born === null || namespace === null ? null : { pid, born, namespace };
}

/** `ended`, another change in words, or null: all is as it was. */
function whatBecameOf({ pid, born, namespace }: Holder): string | null {
  if (processBirth(pid) !== born) return 'ended';
  try {
    // Who comes in by such an interface would be taken for the sandbox.
    const added = addedInterfaces(pid);
    if (added.length > 0) return `it has another way out than the door (${added.join(', ')})`;
  } catch {
    return 'ended';
  }
  return networkOf(pid) === namespace ? null : 'its first process has moved to another network';
}

function networkOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

/** For a gateway with workers: its listening sockets are handles of one process, and its CA lives in that process alone. */
export const noNamespaces: Pick<NamespaceSandboxes, 'open'> = {
  open: () =>
    Promise.reject(
      new Error(
        'a gateway with several workers opens no door in a namespace: set listen.workers to 1, or use `sallyport run`',
      ),
    ),
};
