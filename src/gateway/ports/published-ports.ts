// The ports of sandboxes that this machine has: listeners of the gateway, so that they end with their sandbox and can be changed while
// it runs. Each connection goes from this machine into the sandbox and never the other way. What is published is written down, so that the
// next gateway has it too (docs/adr/064). // Guards: threats.md T111
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { writeFileAtomically } from '../../kit/files/atomic-file.ts';
import { processBirth } from '../../kit/process/process-birth.ts';
import { type PortToPublish, placeOf } from '../../kit/text/published-port.ts';
import { type Connector, openConnector } from '../../sandbox/namespace/open-connector.ts';
import type { SandboxRecord } from '../../stages/identify/registry/sandbox-record.ts';
import { AdminError } from '../admin/admin-error.ts';
import { joinSockets } from './join-sockets.ts';
import type { ReservedPorts } from './reserved-ports.ts';

export interface PublishedPort extends PortToPublish {
  readonly sandbox: string;
}

export interface PublishedPortsParts {
  readonly reserved: Pick<ReservedPorts, 'notePublished' | 'forget'>;
  /** Ports inside that the door of this sandbox has: what comes there is the sandbox to the gateway. */
  readonly doorPorts: (sandbox: string) => ReadonlySet<number>;
  readonly idleTimeoutMs: () => number;
  /** What is published, for the next gateway; null: nothing is kept. */
  readonly file: string | null;
  readonly onFailure: (error: unknown) => void;
  readonly open?: typeof openConnector;
}

interface OfSandbox {
  readonly pid: number;
  readonly born: string | null;
  /** Made for the first port, and again should it end. */
  connector: Promise<Connector> | null;
  readonly listeners: Map<string, { readonly published: PublishedPort; readonly server: Server }>;
  readonly open: Set<Socket>;
}

/** Of one listener. Whoever holds them all open keeps nobody out but those who come to this port. */
const maxConnections = 256;
const maxPorts = 64;

export class PublishedPorts {
  readonly #parts: PublishedPortsParts;
  readonly #sandboxes = new Map<string, OfSandbox>();
  readonly #kept: Kept;

  constructor(parts: PublishedPortsParts) {
    this.#parts = parts;
    this.#kept = new Kept(parts.file, parts.onFailure);
  }

  of(sandbox: string): readonly PublishedPort[] {
    return [...(this.#sandboxes.get(sandbox)?.listeners.values() ?? [])].map(({ published }) => published);
  }

  /** What it was started with; after a gateway that has died, what was published then. */
  async begin(record: SandboxRecord, asked: readonly PortToPublish[]): Promise<void> {
    const before = this.#kept.of(record.id, pidOf(record));
    for (const one of before ?? asked) await this.publish(record, one);
  }

  async publish(record: SandboxRecord, asked: PortToPublish): Promise<PublishedPort> {
    const { id } = record;
    const own = this.#ownOf(record);
    this.#refuse(id, asked, own);
    const connector = await this.#connectorOf(own);
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    server.maxConnections = maxConnections;
    server.listen({ host: asked.address, port: asked.hostPort, exclusive: true, ipv6Only: true });
    try {
      await once(server, 'listening');
    } catch (cause) {
      throw notBound(asked, cause as NodeJS.ErrnoException);
    }
    server.on('error', () => {});
    const bound = server.address();
    const hostPort = typeof bound === 'object' && bound !== null ? bound.port : asked.hostPort;
    const published = { ...asked, hostPort, sandbox: id };
    // It ended meanwhile: nobody would close this listener.
    if (this.#sandboxes.get(id) !== own) {
      server.close();
      connector.close();
      throw notFound(id);
    }
    const place = placeOf(asked.address, hostPort);
    own.listeners.set(place, { published, server });
    this.#parts.reserved.notePublished(place);
    server.on('connection', (socket) => this.#connect(socket, own, published));
    this.#keep(id, own);
    return published;
  }

  /** What of it was published. */
  unpublish(sandbox: string, port: number): readonly PublishedPort[] {
    const own = this.#sandboxes.get(sandbox);
    const gone = [...(own?.listeners ?? [])].filter(([, { published }]) => published.port === port);
    for (const [place, { server }] of gone) {
      server.close();
      this.#parts.reserved.forget(place);
      own!.listeners.delete(place);
    }
    if (gone.length > 0) {
      for (const socket of own!.open) if (Reflect.get(socket, portOfSocket) === port) socket.destroy();
      this.#keep(sandbox, own!);
    }
    return gone.map(([, { published }]) => published);
  }

  /** The sandbox is gone: its listeners and whatever goes through them, at once. */
  drop(sandbox: string): void {
    this.#end(sandbox);
    this.#kept.drop(sandbox);
  }

  /** The gateway ends; the next one finds what was published. */
  stop(): void {
    for (const id of [...this.#sandboxes.keys()]) this.#end(id);
  }

  #end(sandbox: string): void {
    const own = this.#sandboxes.get(sandbox);
    if (own === undefined) return;
    this.#sandboxes.delete(sandbox);
    for (const [place, { server }] of own.listeners) {
      server.close();
      this.#parts.reserved.forget(place);
    }
    for (const socket of own.open) socket.destroy();
    own.connector?.then((connector) => connector.close()).catch(() => {});
  }

  #ownOf(record: SandboxRecord): OfSandbox {
    const known = this.#sandboxes.get(record.id);
    if (known !== undefined) return known;
    const pid = pidOf(record);
    const own = { pid, born: processBirth(pid), connector: null, listeners: new Map(), open: new Set<Socket>() };
    this.#sandboxes.set(record.id, own);
    return own;
  }

  #refuse(id: string, { port, address, hostPort }: PortToPublish, own: OfSandbox): void {
    if (this.#parts.doorPorts(id).has(port)) {
      throw new AdminError(
        409,
        'port.of-the-door',
        `port ${port} of ${id} is the door's own: whoever came to it would be the sandbox to the gateway`,
        'Publish a port that a program inside listens on. Which there are: sallyport ports',
      );
    }
    if (own.listeners.has(placeOf(address, hostPort)) && hostPort !== 0) {
      throw new AdminError(409, 'port.taken', `${placeOf(address, hostPort)} is published already`);
    }
    if (own.listeners.size >= maxPorts) {
      throw new AdminError(409, 'port.too-many', `${id} publishes ${maxPorts} ports, which is the most`);
    }
  }

  #connectorOf(own: OfSandbox): Promise<Connector> {
    if (own.connector !== null) return own.connector;
    const opening = (this.#parts.open ?? openConnector)(own.pid);
    own.connector = opening;
    const forget = (): void => {
      if (own.connector === opening) own.connector = null;
    };
    opening.then((connector) => connector.ended.then(forget), forget);
    return opening;
  }

  #connect(socket: Socket, own: OfSandbox, { sandbox, port }: PublishedPort): void {
    own.open.add(socket);
    Reflect.set(socket, portOfSocket, port);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => own.open.delete(socket));
    // Asked again: another policy may have given the port to the door.
    if (this.#parts.doorPorts(sandbox).has(port)) {
      socket.destroy();
      return;
    }
    this.#connectorOf(own)
      .then((connector) => connector.connect(port))
      .then(
        (inside) => {
          if (socket.destroyed || this.#sandboxes.get(sandbox) !== own) inside.destroy();
          else joinSockets(socket, inside, this.#parts.idleTimeoutMs());
        },
        // Nothing listens there, or no longer: as if this machine had no such port.
        () => socket.resetAndDestroy(),
      );
  }

  #keep(sandbox: string, own: OfSandbox): void {
    const published = [...own.listeners.values()].map((one) => one.published);
    this.#kept.set(sandbox, { pid: own.pid, born: own.born, published });
  }
}

const portOfSocket = Symbol('the port inside');

interface KeptSandbox {
  readonly pid: number;
  readonly born: string | null;
  readonly published: readonly PortToPublish[];
}

/** What is published, on disk: small, and worth nothing when the sandbox is another one of that name. */
class Kept {
  readonly #file: string | null;
  readonly #onFailure: (error: unknown) => void;
  readonly #all: Map<string, KeptSandbox>;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string | null, onFailure: (error: unknown) => void) {
    this.#file = file;
    this.#onFailure = onFailure;
    this.#all = new Map(file === null ? [] : Object.entries(readKept(file)));
  }

  /** Null: nothing is known of this very sandbox. */
  of(sandbox: string, pid: number): readonly PortToPublish[] | null {
    const kept = this.#all.get(sandbox);
    return kept !== undefined && kept.pid === pid && kept.born === processBirth(pid) ? kept.published : null;
  }

  set(sandbox: string, kept: KeptSandbox): void {
    this.#all.set(sandbox, kept);
    this.#write();
  }

  drop(sandbox: string): void {
    if (this.#all.delete(sandbox)) this.#write();
  }

  #write(): void {
    const file = this.#file;
    if (file === null) return;
    const write = (): Promise<void> => writeFileAtomically(file, JSON.stringify(Object.fromEntries(this.#all)));
    this.#writing = this.#writing.then(write).catch(this.#onFailure);
  }
}

function readKept(file: string): Record<string, KeptSandbox> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, KeptSandbox>;
  } catch {
    return {};
  }
}

function pidOf({ id, namespacePid }: SandboxRecord): number {
  if (namespacePid !== null) return namespacePid;
  throw new AdminError(
    409,
    'port.no-namespace',
    `${id} has no network namespace of its own, so there is no way into it`,
    'Ports of sandboxes of `sallyport run` can be published. Of a container: docker run --publish.',
  );
}

function notFound(id: string): AdminError {
  return new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${id}`);
}

function notBound({ address, hostPort, port }: PortToPublish, { code = 'unknown' }: NodeJS.ErrnoException): AdminError {
  const place = placeOf(address, hostPort);
  if (code === 'EADDRINUSE') {
    const hint = `Choose another port of this machine: ${hostPort + 1}:${port}, or 0:${port} for a free one.`;
    return new AdminError(409, 'port.taken', `something listens on ${place} of this machine already`, hint);
  }
  const hint = code === 'EACCES' ? 'Ports below 1024 need root here: choose a higher one.' : 'Choose another address.';
  return new AdminError(409, 'port.not-bound', `this machine cannot listen on ${place} (${code})`, hint);
}
