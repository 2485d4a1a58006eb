// A stand-in for the gateway behind the admin API: it remembers what it was handed and answers from memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminError } from '../../../../src/gateway/admin/admin-error.ts';
import type { AdminPorts, AuditFilter, PublicRecord } from '../../../../src/gateway/admin/admin-ports.ts';
import { type AdminServerOptions, startAdminServer } from '../../../../src/gateway/admin/admin-server.ts';
import { placesIn } from '../../../../src/kit/files/home.ts';

export interface FakePorts extends AdminPorts {
  readonly records: Map<string, PublicRecord>;
  readonly secrets: Map<string, string>;
  readonly checks: unknown[];
  readonly filters: AuditFilter[];
  journal: object[];
  ready: boolean;
  /** Runs that have joined and not left. */
  joined: number;
  /** Who has not confirmed that a sandbox is gone. */
  unconfirmed: string[];
}

export function fakePorts(): FakePorts {
  const records = new Map<string, PublicRecord>();
  const secrets = new Map<string, string>();
  const find = (which: string) =>
    [...records.values()].find(({ id, container_ip }) => id === which || container_ip === which) ?? null;
  const ports: FakePorts = {
    records,
    secrets,
    checks: [],
    filters: [],
    journal: [],
    ready: true,
    unconfirmed: [],
    joined: 0,
    register: async (input) => {
      const { container_ip = null, id = 'sbx_1', ...rest } = input as Record<string, unknown>;
      if (rest.surprise !== undefined)
        throw new AdminError(400, 'sandbox.invalid', 'surprise: unknown key', 'Remove it.');
      if (find(String(container_ip)) !== null) throw new AdminError(409, 'sandbox.conflict', 'the address is in use');
      const record = { container_ip, expires_at: '2027-01-15T00:00:00.000Z', ...rest, id: String(id) };
      records.set(record.id, record);
      const identity = { certificate: 'its certificate', key: 'its key', ca: 'its ca', expires_at: 'later' };
      const isMtls = Array.isArray(rest.proof) && rest.proof.includes('mtls');
      const proof = { secret: 'proof-of-sbx', proxy_url: 'http://127.0.0.1:8080', ...(isMtls && { identity }) };
      return { record, proof };
    },
    list: () => [...records.values()],
    find,
    unregister: async (which) => {
      const found = find(which);
      if (found === null) return null;
      records.delete(found.id);
      return { unconfirmed: ports.unconfirmed };
    },
    renew: async (id) => {
      const found = records.get(id);
      if (found === undefined) throw new AdminError(404, 'sandbox.not-found', `no sandbox ${id}`);
      return found;
    },
    setCredential: (name, value) => {
      if (name === 'broken') throw new Error(`the store broke on ${value}`);
      secrets.set(name, value);
    },
    removeCredential: (name) => secrets.delete(name),
    listCredentials: () => [...secrets.keys()].map((name) => ({ name, source: 'memory', set: true })),
    check: async (input) => {
      ports.checks.push(input);
      const { url = '' } = input as { url?: string };
      const allowed = url.includes('allowed');
      const open = { allowed, status: 0, code: 'undecided', rule: 'allow[0]', credential: null };
      if (url.includes('body')) return { ...open, reason: 'it depends on the body', hint: 'give it' };
      return allowed
        ? { allowed, status: 200, code: '', rule: 'allow[0]', reason: '', hint: '', credential: 'anthropic' }
        : {
            allowed,
            status: 403,
            code: 'domain.not-allowed',
            rule: 'allow',
            reason: 'it is not on the allowlist',
            hint: 'add it',
            credential: null,
          };
    },
    health: () => ({
      ready: ports.ready,
      version: '0.0.0',
      config: 'embedded default',
      doors: ['proxy 127.0.0.1:8080'],
      ca: '/ca.pem',
      sandboxes: records.size,
      controls: [{ name: 'journal', live: ports.ready, detail: '' }],
      warnings: [],
      guarded: { keep: [], hide: [] },
    }),
    metrics: async () => 'sallyport_requests_total 1\n',
    questions: {
      list: () => [],
      approvals: () => [],
      preview: async (id) => {
        throw new AdminError(404, 'question.unknown', `nothing waits as ${id}`);
      },
      answer: async (id) => {
        throw new AdminError(404, 'question.unknown', `nothing waits as ${id}`);
      },
      withdraw: async () => false,
      watch: async function* (signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    },
    startLearning: async () => {},
    ports: () => [],
    publish: async () => ({ sandbox: 'one', address: '127.0.0.1', hostPort: 3000, port: 3000 }),
    unpublish: () => [],
    dashboardAddress: () => null,
    openDashboard: async () => 'http://127.0.0.1:1/enter?token=t',
    join: async () => {
      const answer = {
        joined: true,
        kind: 'up',
        pid: process.pid,
        home: '/state',
        config: '/a/sallyport.yaml',
      } as const;
      ports.joined++;
      return { answer, lease: { end: () => --ports.joined < 0 } };
    },
    explain: () => null,
    audit: async function* (filter) {
      ports.filters.push(filter);
      yield* ports.journal.slice(Math.max(0, ports.journal.length - filter.limit));
      if (filter.follow) {
        await new Promise((resolve) => filter.signal.addEventListener('abort', resolve, { once: true }));
        ports.journal.push({ ended: true });
      }
    },
  };
  return ports;
}

export interface Running {
  readonly home: string;
  readonly socketPath: string;
  readonly ports: FakePorts;
  readonly faults: string[];
  stop(): Promise<void>;
}

/** An admin server with those ports in a home of its own. */
export async function startFake(extra: Partial<AdminServerOptions> = {}): Promise<Running> {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-admin-'));
  const socketPath = placesIn(home).adminSocket;
  const ports = fakePorts();
  const faults: string[] = [];
  const server = await startAdminServer({
    socketPath,
    ports,
    onFault: (what, error) => faults.push(`${what}: ${error instanceof Error ? error.message : error}`),
    ...extra,
  });
  return {
    home,
    socketPath,
    ports,
    faults,
    stop: async () => {
      await server.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
