// Opens the door of a sandbox: listening sockets inside its network namespace, held by the gateway outside. A short-lived
// child enters the namespace, binds and hands over; it has ended before this resolves, since as long as it lived it could
// take a connection and die with it. Must never bind anything in the gateway's own network.
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket as UdpSocket } from 'node:dgram';
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { Server, type Socket } from 'node:net';
import { type NamespaceHandles, sandboxProxyPort } from '../../kit/namespace-handles.ts';
import { ownPath } from '../../kit/process/own-path.ts';
import { LaunchError } from '../run/sandbox-plan.ts';
import { type DoorChildMessage, type DoorChildOrder, doorChildSource } from './door-child.ts';
import { childFault, enteringFault, noNsenter, notAnotherNamespace } from './door-faults.ts';
import { findTool } from './find-tool.ts';
import { forbiddenNamespaces, needsUserNamespace, readNamespace } from './process-namespaces.ts';

const dnsPort = 53;
const backlog = 512;
const timeoutMs = 10_000;
const maxComplaintBytes = 4096;
const koffi = createRequire(import.meta.url).resolve('koffi');

export interface NamespaceDoorOptions {
  /** A process in the network namespace of the sandbox. */
  readonly pid: number;
  /** Every port the policy names. 53 and the proxy's own port are the door's, whatever stands here. */
  readonly ports: readonly number[];
  /** Ports of the sandbox's loopback that are the host's. One that is among `ports` listens there already. */
  readonly hostPorts?: readonly number[];
  /** `net:[…]`: what was looked at before. Left out: whatever the process has now. */
  readonly network?: string;
  readonly signal?: AbortSignal;
}

export async function openNamespaceDoor(options: NamespaceDoorOptions, find = findTool): Promise<NamespaceHandles> {
  const { pid } = options;
  if (!Number.isSafeInteger(pid) || pid < 1) {
    throw new LaunchError(`${pid} is not a process id`, 'Name a process that runs in the sandbox.');
  }
  const expected = options.network ?? readNamespace(pid, 'net');
  const forbidden = forbiddenNamespaces();
  if (forbidden.includes(expected)) throw notAnotherNamespace(pid);
  const ports = [...new Set(options.ports)].filter((port) => port !== dnsPort && port !== sandboxProxyPort);
  const hostPorts = (options.hostPorts ?? []).filter((port) => !ports.includes(port));
  const order: DoorChildOrder = {
    ...{ forbidden, expected, ports, hostPorts, dnsPort },
    ...{ proxyPort: sandboxProxyPort, backlog, koffi },
  };
  const nsenter = find('nsenter');
  if (nsenter === null) throw noNsenter();
  const child = spawn(
    nsenter,
    [...entering(pid), '--', process.execPath, '-e', doorChildSource, JSON.stringify(order)],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Nothing of the gateway's environment: it holds what the sandbox must not have, and NODE_OPTIONS.
      env: { PATH: ownPath() || '/usr/sbin:/usr/bin:/sbin:/bin' },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    },
  );
  return new Receiver(child, pid, ports, hostPorts).receive();
}

/** Closes handles that no door serves: what came after the opening has failed. */
export function closeNamespaceHandles(handles: Partial<NamespaceHandles>): void {
  const ofHost = [...(handles.hostPorts?.values() ?? [])].flat();
  for (const server of [...(handles.tcp?.values() ?? []), ...ofHost, handles.dnsTcp, handles.proxy]) server?.close();
  for (const socket of handles.dnsUdp ?? []) socket.close();
}

/** Takes what the child sends and waits for its end. */
class Receiver {
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #ports: readonly number[];
  readonly #hostPorts: readonly number[];
  readonly #tcp = new Map<number, Server>();
  readonly #host = new Map<number, Server[]>();
  #dnsTcp: Server | undefined;
  readonly #dnsUdp: UdpSocket[] = [];
  #proxy: Server | undefined;
  #fault: Error | null = null;
  #complaint = '';

  constructor(child: ChildProcess, pid: number, ports: readonly number[], hostPorts: readonly number[]) {
    this.#child = child;
    this.#pid = pid;
    this.#ports = ports;
    this.#hostPorts = hostPorts;
  }

  async receive(): Promise<NamespaceHandles> {
    const child = this.#child;
    const timer = setTimeout(() => {
      this.#fault ??= new LaunchError(
        `the door of the sandbox was not open after ${timeoutMs / 1000} seconds`,
        'The machine may be overloaded: try again.',
      );
      child.kill('SIGKILL');
    }, timeoutMs);
    child.on('message', (message, handle) => this.#take(message as DoorChildMessage, handle));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#complaint.length < maxComplaintBytes) this.#complaint += text;
    });
    const notStarted = new Promise<void>((resolve) => {
      child.on('error', (error) => {
        this.#fault ??= error;
        // A program that could not be started has no end to wait for.
        if (child.pid === undefined) resolve();
      });
    });
    // The child is reaped and the channel empty: nothing is under way and nothing else holds the sockets. (`close` of the
    // child does not come where we were the ones to disconnect.)
    const ended = Promise.all([
      happened(child, 'exit'),
      happened(child, 'disconnect'),
      happened(child.stderr!, 'close'),
    ]);
    await Promise.race([ended, notStarted]);
    clearTimeout(timer);
    return this.#result();
  }

  #take(message: DoorChildMessage, handle: unknown): void {
    switch (message.kind) {
      case 'failed':
        this.#fault ??= childFault(message, this.#pid);
        this.#child.disconnect();
        return;
      case 'done':
        this.#child.disconnect();
        return;
      case 'tcp':
        if (handle instanceof Server) this.#tcp.set(message.port, notYet(handle));
        return;
      case 'host-port':
        if (handle instanceof Server)
          this.#host.set(message.port, [...(this.#host.get(message.port) ?? []), notYet(handle)]);
        return;
      case 'dns-tcp':
        if (handle instanceof Server) this.#dnsTcp = notYet(handle);
        return;
      case 'dns-udp':
        if (handle instanceof UdpSocket) this.#dnsUdp.push(handle);
        return;
      case 'proxy':
        if (handle instanceof Server) this.#proxy = notYet(handle);
    }
  }

  #result(): NamespaceHandles {
    const tcp = this.#tcp;
    const [dnsTcp, dnsUdp, proxy] = [this.#dnsTcp, this.#dnsUdp, this.#proxy];
    const hostPorts = this.#host;
    const whole = this.#ports.every((port) => tcp.has(port)) && this.#hostPorts.every((port) => hostPorts.has(port));
    if (this.#fault === null && whole && dnsTcp !== undefined && dnsUdp.length > 0 && proxy !== undefined) {
      // Whoever asked for the door has it before the next connection can come: nothing is waited for in between.
      for (const server of [...tcp.values(), ...[...hostPorts.values()].flat(), dnsTcp, proxy])
        server.off('connection', turnAway);
      return { tcp, hostPorts, dnsTcp, dnsUdp, proxy };
    }
    closeNamespaceHandles({
      tcp,
      hostPorts,
      ...(dnsTcp !== undefined && { dnsTcp }),
      dnsUdp,
      ...(proxy !== undefined && { proxy }),
    });
    throw this.#fault ?? enteringFault(this.#pid, this.#complaint);
  }
}

/**
 * A server that came over accepts at once, before anybody serves it. A container runs before it has a door: a connection
 * of it that nobody took up would end the gateway by being reset, at any time later.
 */
function notYet(server: Server): Server {
  return server.on('connection', turnAway).on('error', () => {});
}

function turnAway(socket: Socket): void {
  socket.on('error', () => {}).destroy();
}

/** Unlike `once` it is not cut short by an error of the emitter. */
function happened(emitter: EventEmitter, event: string): Promise<unknown> {
  return new Promise((resolve) => {
    emitter.once(event, resolve);
  });
}

/** Of nsenter: as root the network alone, else also the user namespace that owns it. */
export function entering(pid: number): string[] {
  const target = ['--target', String(pid), '--net'];
  return needsUserNamespace(pid) ? [...target, '--user', '--preserve-credentials'] : target;
}
