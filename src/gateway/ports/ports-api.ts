// What the admin API can do about ports: what listens in a sandbox, what of it this machine has, and changes of that.
import { tcpListeners } from '../../kit/process/tcp-listeners.ts';
import { type PortToPublish, parsePublishedPort } from '../../kit/text/published-port.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../../stages/identify/registry/sandbox-record.ts';
import { AdminError } from '../admin/admin-error.ts';
import type { AdminPorts, PortsOfSandbox } from '../admin/admin-ports.ts';
import type { PublishedPort, PublishedPorts } from './published-ports.ts';

export interface PortsParts {
  readonly registry: SandboxRegistry;
  readonly published: Pick<PublishedPorts, 'begin' | 'of' | 'publish' | 'unpublish'>;
  /** Ports inside that are the door's own. */
  readonly doorPorts: (sandbox: string) => ReadonlySet<number>;
}

/** `ports` of a registration: which to publish. The registry keeps nothing of it. */
export function takePorts(input: unknown): { input: unknown; ports: readonly PortToPublish[] } {
  if (typeof input !== 'object' || input === null || !('ports' in input)) return { input, ports: [] };
  const { ports, ...rest } = input as Record<string, unknown>;
  if (!Array.isArray(ports)) throw new AdminError(400, 'sandbox.invalid', 'ports: write a list such as ["8080:3000"]');
  return { input: rest, ports: ports.map(readPort) };
}

/** One that cannot be published leaves no registration behind: its user counts on it. */
export async function beginPublished(
  { registry, published }: PortsParts,
  record: SandboxRecord,
  ports: readonly PortToPublish[],
): Promise<readonly PublishedPort[]> {
  if (record.namespacePid === null && ports.length === 0) return [];
  try {
    await published.begin(record, ports);
  } catch (error) {
    if (registry.holds(record)) await registry.remove(record.id);
    throw error;
  }
  return published.of(record.id);
}

export function createPortsApi(parts: PortsParts): Pick<AdminPorts, 'ports' | 'publish' | 'unpublish'> {
  const { registry, published } = parts;
  const found = (idOrIp: string): SandboxRecord => {
    const record = registry.find(idOrIp);
    if (record !== null) return record;
    throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${idOrIp}`, 'See: sallyport list');
  };
  return {
    ports: (idOrIp) =>
      (idOrIp === null ? registry.list() : [found(idOrIp)])
        .filter(({ namespacePid }) => namespacePid !== null)
        .map((record) => portsOf(parts, record)),
    publish: (idOrIp, text) => published.publish(found(idOrIp), readPort(text)),
    unpublish(idOrIp, port) {
      const { id } = found(idOrIp);
      const gone = published.unpublish(id, port);
      if (gone.length > 0) return gone;
      throw new AdminError(404, 'port.not-published', `port ${port} of ${id} is not published`, 'See: sallyport ports');
    },
  };
}

function portsOf({ published, doorPorts }: PortsParts, record: SandboxRecord): PortsOfSandbox {
  const { id } = record;
  const own = doorPorts(id);
  const found = tcpListeners(record.namespacePid!).filter(({ port }) => !own.has(port));
  const listening = [...new Set(found.map(({ port }) => port))]
    .sort((a, b) => a - b)
    .map((port) => ({ port, addresses: found.filter((one) => one.port === port).map(({ address }) => address) }));
  return { sandbox: id, listening, published: published.of(id) };
}

function readPort(text: unknown): PortToPublish {
  const read = parsePublishedPort(String(text));
  if ('value' in read) return read.value;
  throw new AdminError(400, 'sandbox.invalid', `ports: ${JSON.stringify(text)}: ${read.problem}`);
}
