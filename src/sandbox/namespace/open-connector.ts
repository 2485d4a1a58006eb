// Connects into the network namespace of a sandbox, for ports that it publishes: a socket of that network can be made in it alone, so a
// small process stays there for as long as a port is published, and hands connections over (connector-child.ts).
import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { ownPath } from '../../kit/process/own-path.ts';
import { LaunchError } from '../run/sandbox-plan.ts';
import { type ConnectorMessage, type ConnectorOrder, connectorSource } from './connector-child.ts';
import { enteringFault, noNsenter, notAnotherNamespace } from './door-faults.ts';
import { findTool } from './find-tool.ts';
import { entering } from './open-namespace-door.ts';
import { forbiddenNamespaces, readNamespace } from './process-namespaces.ts';

const koffi = createRequire(import.meta.url).resolve('koffi');
const startMs = 10_000;
/** A server inside whose queue is full answers late or never. */
const connectMs = 5_000;
/** Connections that are not there yet: more are turned away. */
const maxPending = 64;
const maxComplaintBytes = 4096;

export interface Connector {
  /** To this port of the sandbox's own loopback, IPv4 first. Nothing is read of it yet. */
  connect(port: number): Promise<Socket>;
  /** Resolves when its process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Nothing answers at that port, or nobody could ask. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

export async function openConnector(pid: number, find = findTool): Promise<Connector> {
  const expected = readNamespace(pid, 'net');
  const forbidden = forbiddenNamespaces();
  if (forbidden.includes(expected)) throw notAnotherNamespace(pid);
  const nsenter = find('nsenter');
  if (nsenter === null) throw noNsenter();
  const order: ConnectorOrder = { forbidden, expected, timeoutMs: connectMs, koffi };
  const small = ['--max-old-space-size=32', '--max-semi-space-size=1'];
  const child = spawn(
    nsenter,
    [...entering(pid), '--', process.execPath, ...small, '-e', connectorSource, JSON.stringify(order)],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Nothing of the gateway's environment: it holds what the sandbox must not have.
      env: { PATH: ownPath() || '/usr/sbin:/usr/bin:/sbin:/bin' },
    },
  );
  const connector = new ConnectorProcess(child);
  await connector.ready(pid);
  return connector;
}

class ConnectorProcess implements Connector {
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, { resolve(socket: Socket): void; reject(error: Error): void }>();
  #count = 0;
  #complaint = '';
  #began: (message: ConnectorMessage) => void = () => {};

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#complaint.length < maxComplaintBytes) this.#complaint += text;
    });
    child.on('message', (message, handle) => this.#take(message as ConnectorMessage, handle));
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        for (const { reject } of this.#pending.values()) reject(new NotConnected('the way into the sandbox has ended'));
        this.#pending.clear();
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
  }

  async ready(pid: number): Promise<void> {
    const timer = setTimeout(() => this.close(), startMs);
    const began = new Promise<ConnectorMessage>((resolve) => (this.#began = resolve));
    const first = await Promise.race([began, this.ended]);
    clearTimeout(timer);
    if (first?.kind === 'ready') return;
    this.close();
    if (first?.kind === 'failed') {
      throw new LaunchError(`process ${pid} changed its network while a port was being published`, 'Try again.');
    }
    throw enteringFault(pid, this.#complaint);
  }

  connect(port: number): Promise<Socket> {
    if (this.#pending.size >= maxPending) return Promise.reject(new NotConnected('too many connections wait'));
    if (!this.#child.connected) return Promise.reject(new NotConnected('the way into the sandbox has ended'));
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, port }, (error) => {
        if (error === null) return;
        this.#pending.delete(id);
        reject(error);
      });
    });
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }

  #take(message: ConnectorMessage, handle: unknown): void {
    if (message.kind === 'ready' || message.kind === 'failed') {
      this.#began(message);
      return;
    }
    const waiting = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === 'connected' && handle instanceof Socket) {
      if (waiting === undefined) handle.destroy();
      else waiting.resolve(handle);
      return;
    }
    waiting?.reject(new NotConnected(message.kind === 'refused' ? message.code : 'it was gone before it was here'));
  }
}
