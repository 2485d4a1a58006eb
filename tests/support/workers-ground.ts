// A gateway with two workers in processes of their own, an upstream, and clients on many connections, for the tests of what
// workers share. Who served a request is in its id: each process has its own beginning.
import { readFileSync } from 'node:fs';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { startStreamingUpstream } from './fake-upstream.ts';
import { journalLines } from './journal-lines.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from './spawn-gateway.ts';
import { makeTestCa } from './test-ca.ts';
import { type AdminReply, callAdmin } from './test-gateway.ts';
import { openTls } from './tunnel-client.ts';
import { Wire } from './wire.ts';

export const host = 'far.example';
/** The one that a credential is for. */
export const keyedHost = 'keyed.example';

export interface WorkersGround {
  readonly command: BuiltCommand;
  gateway: RunningGateway;
  /** Answers of `/slow` that have begun and wait for their end. */
  readonly slow: Http2ServerResponse[];
  /** What the upstream was sent as x-api-key, by request. */
  readonly keys: (string | undefined)[];
  /** The policy with more in it; not in force until a reload. */
  writeConfig(more: Record<string, unknown>): void;
  admin(method: string, path: string, body?: unknown): Promise<AdminReply>;
  /** The processes of the workers that run now. */
  workers(): number[];
  /** A connection behind CONNECT and TLS. */
  open(to?: string): Promise<Wire>;
  journal(): Record<string, unknown>[];
  remove(): Promise<void>;
}

export async function startWorkersGround(more: Record<string, unknown> = {}): Promise<WorkersGround> {
  const ca = makeTestCa();
  const slow: Http2ServerResponse[] = [];
  const keys: (string | undefined)[] = [];
  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    keys.push(request.headers['x-api-key'] as string | undefined);
    if (request.url !== '/slow') response.end('answer');
    else {
      response.writeHead(200);
      response.write('beginning ');
      slow.push(response);
    }
  };
  const upstream = await startStreamingUpstream(ca, [host, keyedHost], serve);
  const listen = { proxy: '127.0.0.1:0', workers: 2 };
  const policy = {
    listen,
    allow: [{ host }, { host: keyedHost }],
    credentials: { far: { hosts: [keyedHost], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address, [keyedHost]: upstream.address }, ca: ca.path },
  };
  const command = buildCommand({ ...policy, ...more });
  const ground: WorkersGround = {
    command,
    gateway: await upWithWorkers(command),
    slow,
    keys,
    writeConfig: (next) => command.writeConfig({ ...policy, ...next }),
    admin: (method, path, body) => callAdmin(`${command.home}/state/run/admin.sock`, method, path, body),
    workers: () => childrenOf(ground.gateway.child.pid!),
    open: async (to = host) => new Wire(await openTls(ground.gateway, `${to}:443`, { caPath: ground.gateway.caPath })),
    journal: () => journalLines(join(command.home, 'state', 'journal')),
    async remove() {
      ground.gateway.kill('SIGKILL');
      await ground.gateway.ended;
      for (const response of slow) response.end();
      await upstream.close();
      command.remove();
    },
  };
  return ground;
}

/** Three processes have to start: that takes its time on a busy machine. */
export async function upWithWorkers(command: BuiltCommand): Promise<RunningGateway> {
  const running = command.start(['up', '--json']);
  const isUp = (): RegExpExecArray | null => {
    if (running.child.exitCode !== null) throw new Error(`the gateway ended: ${running.output()}`);
    return /proxy http:\/\/127\.0\.0\.1:(\d+)/.exec(running.output());
  };
  try {
    const door = await eventually(isUp, 'the gateway is up', 40_000);
    const port = Number(door[1]);
    const caPath = join(command.home, 'state', 'ca', 'ca.pem');
    return { ...running, host: '127.0.0.1', port, proxyUrl: `http://127.0.0.1:${port}`, caPath };
  } catch (error) {
    running.kill('SIGKILL');
    throw error;
  }
}

/** One request; the status of its answer, which is read to its end. */
export async function ask(wire: Wire, path = '/', to = host): Promise<number> {
  wire.send(`GET ${path} HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
  const { head } = await wire.answer();
  return Number(head.slice(9, 12));
}

/** Which process served a request. */
export function servedBy(record: Record<string, unknown>): string {
  return String(record.id).split('-')[0]!;
}

export function isRunning(pid: number): boolean {
  try {
    // One that has ended and was not waited for yet is a zombie: it runs no more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export async function isRefused(port: number): Promise<boolean> {
  const socket: Socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}

export async function registered(ground: WorkersGround, registration: Record<string, unknown>): Promise<string> {
  const reply = await ground.admin('POST', '/internal/containers', registration);
  if (reply.status !== 201) throw new Error(`register: ${reply.status} ${reply.body}`);
  return reply.body;
}

export function workersLine(ground: WorkersGround): Promise<string> {
  return eventually(async () => {
    const { controls } = (await ground.admin('GET', '/internal/health')).json<{
      controls: { name: string; detail: string }[];
    }>();
    return controls.find(({ name }) => name === 'workers')?.detail;
  }, 'the workers are in the list of what is live');
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}
