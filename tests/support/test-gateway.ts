// A whole gateway for a test: real doors, real admin socket, real journal, state in a directory of its own. Started in
// this process from the source; `spawnGateway` is for the tests that kill one.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { Gateway } from '../../src/gateway/contract.ts';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { settle } from './settle.ts';

export interface AdminReply {
  readonly status: number;
  readonly body: string;
  json<T = Record<string, unknown>>(): T;
}

export interface TestGateway {
  readonly home: string;
  readonly configPath: string;
  /** `127.0.0.1` and the port of the proxy door. */
  readonly host: string;
  readonly port: number;
  readonly proxyUrl: string;
  readonly caPath: string;
  readonly gateway: Gateway;
  admin(method: string, path: string, body?: unknown): Promise<AdminReply>;
  /** Registers; default: by address 127.0.0.1. */
  register(registration?: Record<string, unknown>): Promise<Record<string, unknown> & { id: string }>;
  setSecret(name: string, value: string): Promise<void>;
  /** Every record of the journal so far, flushed. */
  journal(): Promise<Record<string, unknown>[]>;
  /** Rewrites the configuration file (does not reload). */
  writeConfig(config: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/**
 * The policy document without `version` and `listen`, which are filled in (port chosen by the system). `beside`: another
 * gateway, whose CAs it gets.
 */
export async function startTestGateway(
  config: Record<string, unknown>,
  beside: Pick<TestGateway, 'caPath'> | null = null,
): Promise<TestGateway> {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-home-'));
  const configPath = join(home, 'sallyport.yaml');
  const writeConfig = (document: Record<string, unknown>): void =>
    writeFileSync(configPath, stringify({ version: 1, listen: { proxy: '127.0.0.1:0' }, ...document }));
  writeConfig(config);
  if (beside !== null) {
    mkdirSync(join(home, 'state'), { mode: 0o700 });
    for (const folder of ['ca', 'identity-ca']) {
      const theirs = join(dirname(beside.caPath), '..', folder);
      if (existsSync(theirs)) cpSync(theirs, join(home, 'state', folder), { recursive: true });
    }
  }
  // What it says is for its operator; a test that wants it starts a process of its own (spawn-gateway.ts).
  const log = createLog({ level: 'silent' });
  const gateway = await startGateway({ home: join(home, 'state'), config: configPath, log }).catch((error: unknown) => {
    rmSync(home, { recursive: true, force: true });
    throw error;
  });
  const address = /127\.0\.0\.1:(\d+)/.exec(gateway.summary.doors[0]!)!;
  const port = Number(address[1]);
  const admin = (method: string, path: string, body?: unknown): Promise<AdminReply> =>
    callAdmin(gateway.summary.adminSocket, method, path, body);
  return {
    home,
    configPath,
    host: '127.0.0.1',
    port,
    proxyUrl: `http://127.0.0.1:${port}`,
    caPath: gateway.summary.caPath,
    gateway,
    admin,
    async register(registration = { container_ip: '127.0.0.1' }) {
      const reply = await admin('POST', '/internal/containers', registration);
      if (reply.status !== 201) throw new Error(`register: ${reply.status} ${reply.body}`);
      return reply.json<Record<string, unknown> & { id: string }>();
    },
    async setSecret(name, value) {
      const reply = await admin('PUT', `/internal/credentials/${name}`, value);
      if (reply.status >= 300) throw new Error(`secret: ${reply.status} ${reply.body}`);
    },
    async journal() {
      await settle(20);
      const directory = join(home, 'state', 'journal');
      return readdirSync(directory)
        .filter((name) => name.endsWith('.jsonl'))
        .sort()
        .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    writeConfig,
    async stop() {
      await gateway.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A string body goes as it is, anything else as JSON. */
export function callAdmin(socketPath: string, method: string, path: string, body?: unknown): Promise<AdminReply> {
  const isText = typeof body === 'string';
  const payload = body === undefined ? null : isText ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers =
      payload === null
        ? {}
        : { 'content-type': isText ? 'text/plain' : 'application/json', 'content-length': Buffer.byteLength(payload) };
    const request = httpRequest({ socketPath, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, body: text, json: <T>() => JSON.parse(text) as T });
      });
    });
    request.on('error', reject);
    request.end(payload ?? undefined);
  });
}
