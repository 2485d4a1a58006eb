// Sandboxes whose door is in their own network namespace: opens the door, makes the CA that only this sandbox trusts, and
// takes both away when the sandbox is gone, even when nobody says so. The CA's key never leaves this process's memory.
import type { Doors } from './accept/doors.ts';
import { LeafMinter } from './accept/leaf.ts';
import { makeSandboxCa, type SandboxCa } from './accept/sandbox-ca.ts';
import type { SandboxRecord } from './identify/sandbox-record.ts';
import type { NamespaceHandles } from './kit/namespace-handles.ts';
import { processBirth } from './kit/process-birth.ts';
import { closeNamespaceHandles, openNamespaceDoor } from './launch/open-namespace-door.ts';
import type { CompiledPolicy } from './policy/compiled.ts';

/** How soon a sandbox that was killed with its launcher is noticed. Its door leads nowhere by then: nobody is behind it. */
const lookEveryMs = 1_000;

export interface NamespaceParts {
  readonly doors: Doors;
  readonly policy: () => CompiledPolicy;
  readonly isRegistered: (record: SandboxRecord) => boolean;
  readonly unregister: (id: string) => Promise<unknown>;
  readonly onFailure: (error: unknown) => void;
}

export class NamespaceSandboxes {
  readonly #parts: NamespaceParts;
  /** By sandbox: the process that holds its namespace, and when that was born, since numbers of processes come again. */
  readonly #holders = new Map<string, { readonly pid: number; readonly born: string }>();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: NamespaceParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** Returns the certificate (PEM) that the sandbox is to trust. Rejects with a LaunchError. */
  async open(record: SandboxRecord, pid: number): Promise<string> {
    const born = processBirth(pid);
    const ports = new Set([443, 80, ...this.#parts.policy().allow.flatMap((rule) => rule.ports)]);
    const opening = openNamespaceDoor({ pid, ports: [...ports] });
    const { ca, leaves } = makeTrust(record.id, opening);
    const handles = await opening;
    // Unregistered meanwhile: nobody would ever close this door.
    if (born === null || !this.#parts.isRegistered(record)) {
      closeNamespaceHandles(handles);
      throw new Error('the sandbox was gone before its door was open');
    }
    this.#parts.doors.openNamespace(record.id, handles, (host) => leaves.contextFor(host));
    this.#holders.set(record.id, { pid, born });
    return ca.certificatePem;
  }

  forget(id: string): void {
    this.#holders.delete(id);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [id, { pid, born }] of this.#holders) {
      if (processBirth(pid) === born) continue;
      this.#holders.delete(id);
      this.#parts.unregister(id).catch(this.#parts.onFailure);
    }
  }
}

/** While the door is being opened. Should it fail, nobody is left with a door that opens later. */
function makeTrust(id: string, opening: Promise<NamespaceHandles>): { ca: SandboxCa; leaves: LeafMinter } {
  try {
    const ca = makeSandboxCa(id, Date.now());
    return { ca, leaves: new LeafMinter(ca) };
  } catch (error) {
    opening.then(closeNamespaceHandles, () => {});
    throw error;
  }
}
