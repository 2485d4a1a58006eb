// Ports of this host's loopback that no sandbox is led to: those of Sallyport itself, of any gateway of this user, the API of Docker,
// and what another sandbox has published. Asked when a sandbox is registered and again at each connection, since who listens
// at a port may change. // Guards: threats.md T110
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { holdersOf, processes, type TcpListener, tcpListeners } from '../../kit/process/tcp-listeners.ts';

export interface ReservedPortsOptions {
  /** The listeners of this host; replaced in tests. */
  readonly listeners?: () => readonly TcpListener[];
  /** What the processes that hold these sockets are, where it matters; null: nothing of ours, nor Docker. */
  readonly judge?: (inodes: ReadonlySet<string>) => string | null;
  readonly dockerPorts?: () => ReadonlyMap<number, string>;
}

interface Noted {
  readonly port: number;
  readonly onLoopback: boolean;
  readonly what: string;
}

/** Whatever is said of a socket is good for so long: looking through all processes takes a while. */
const keptMs = 10_000;
const maxKept = 256;

export class ReservedPorts {
  readonly #options: Required<ReservedPortsOptions>;
  /** By address: what this gateway listens on. Exact, because other sockets of this process may be a program's that it lives in. */
  readonly #own = new Map<string, Noted>();
  readonly #published = new Set<string>();
  #docker: { readonly ports: ReadonlyMap<number, string>; readonly untilMs: number } = { ports: new Map(), untilMs: 0 };
  readonly #judged = new Map<string, { readonly why: string | null; readonly untilMs: number }>();

  constructor({ listeners = tcpListeners, judge = whatHolds, dockerPorts = portsOfDocker }: ReservedPortsOptions = {}) {
    this.#options = { listeners, judge, dockerPorts };
  }

  /** This gateway listens at `address:port` from now on. */
  note(place: string, what: string): void {
    const { address, port } = readPlace(place);
    this.#own.set(place, { port, what, onLoopback: coversLoopback(address) });
  }

  /** A sandbox has published a port of its own at `address:port`. */
  notePublished(place: string): void {
    this.note(place, 'a port that a sandbox has published: it is one');
    this.#published.add(place);
  }

  /** Whether somebody who dials this would come to a sandbox. */
  isPublished(address: string, port: number): boolean {
    if (this.#published.size === 0) return false;
    return [...this.#published].some((place) => {
      const published = readPlace(place);
      return published.port === port && couldBe(address, published.address);
    });
  }

  forget(place: string): void {
    this.#published.delete(place);
    this.#own.delete(place);
  }

  /** Why no sandbox is led to it, in words that follow "it is"; null: it may be, or nothing listens there. */
  whyNot(port: number): string | null {
    const own = [...this.#own.values()].find((one) => one.port === port && one.onLoopback);
    if (own !== undefined) return `it is ${own.what} of this gateway`;
    const nowMs = performance.now();
    if (this.#docker.untilMs <= nowMs) {
      this.#docker = { ports: this.#options.dockerPorts(), untilMs: nowMs + keptMs };
    }
    const docker = this.#docker.ports.get(port);
    if (docker !== undefined) return `it is ${docker}`;
    const found = this.#options.listeners().filter((one) => one.port === port && coversLoopback(one.address));
    if (found.length === 0) return null;
    const inodes = new Set(found.map(({ inode }) => inode));
    const key = [port, ...[...inodes].sort()].join(' ');
    const known = this.#judged.get(key);
    if (known !== undefined && known.untilMs > nowMs) return known.why;
    const why = this.#options.judge(inodes);
    if (this.#judged.size >= maxKept) this.#judged.clear();
    this.#judged.set(key, { why, untilMs: nowMs + keptMs });
    return why;
  }
}

function readPlace(place: string): { address: string; port: number } {
  const colon = place.lastIndexOf(':');
  return { address: place.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(place.slice(colon + 1)) };
}

/** A port on every address is on this one too, and loopback has many addresses. */
function couldBe(dialled: string, published: string): boolean {
  return (
    dialled === published ||
    isEvery(published) ||
    isEvery(dialled) ||
    (coversLoopback(dialled) && coversLoopback(published))
  );
}

function isEvery(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function coversLoopback(address: string): boolean {
  if (address === '0.0.0.0' || address === '::' || address === '::1' || address === 'localhost') return true;
  return !isIPv6(address) && address.startsWith('127.');
}

/** What another process is that listens there. A worker has the sockets of its gateway. */
function whatHolds(inodes: ReadonlySet<string>): string | null {
  const others = holdersOf(inodes).filter((pid) => pid !== process.pid);
  const gateways = new Set(holdersOf(adminSockets()));
  for (const pid of others) {
    const name = readOf(pid, 'comm').trim();
    if (/^(?:dockerd|containerd|podman)$/.test(name)) return `it is held by ${name}`;
    const isWorker = readOf(pid, 'cmdline').split('\0').includes('worker') && gateways.has(parentOf(pid));
    if (gateways.has(pid) || isWorker) return 'it is a port of another gateway';
  }
  return null;
}

/** Every gateway listens on one, wherever its state is. */
function adminSockets(): Set<string> {
  const lines = readText('/proc/net/unix').split('\n');
  return new Set(
    lines.flatMap((line) => {
      const [, , , flags, , , inode, path = ''] = line.trim().split(/\s+/);
      // __SO_ACCEPTCON: it listens.
      return flags === '00010000' && inode !== undefined && path.endsWith('/admin.sock') ? [inode] : [];
    }),
  );
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readOf(pid, 'status'))?.[1] ?? 0);
}

/** Those by custom, and those that its daemons were started with: a daemon of root shows nothing of what it holds. */
function portsOfDocker(): ReadonlyMap<number, string> {
  const ports = new Map([2375, 2376, 2377].map((port) => [port, 'the API of Docker, by custom']));
  const texts = [readText('/etc/docker/daemon.json')];
  for (const pid of processes()) {
    if (/^(?:dockerd|podman)$/.test(readOf(pid, 'comm').trim())) texts.push(readOf(pid, 'cmdline'));
  }
  for (const text of texts) {
    for (const [, port] of text.matchAll(/tcp:\/\/[^\s"',\0]*?:(\d{1,5})/g))
      ports.set(Number(port), 'the API of Docker');
  }
  return ports;
}

function readOf(pid: number, file: string): string {
  return readText(`/proc/${pid}/${file}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
