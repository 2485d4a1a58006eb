// The path as every gateway has it, with identity, policy, injection, search and journal on, driven through sockets that only
// pretend: whatever CPU is used is that of Sallyport's own code. Compiled and started by path-cost.mjs.
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net, { type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { GCProfiler } from 'node:v8';
import { ApprovalsInForce } from '../src/gateway/approvals/approvals-in-force.ts';
import { createGatewayCore, type GatewayCore } from '../src/gateway/build/gateway-core.ts';
import { createRequestServer, type RequestServer } from '../src/gateway/serve-request.ts';
import { createEmbeddedStore } from '../src/gateway/store/embedded-store.ts';
import { FileRegistrations } from '../src/gateway/store/file-registrations.ts';
import { Sweeper } from '../src/kit/sweeper.ts';
import { createLog } from '../src/kit/text/log.ts';
import type { Asking, InsideApi } from '../src/path/approvals.ts';
import { admissionPath, requestPath } from '../src/path/paths.ts';
import { loadPolicyText } from '../src/policy/load/load-policy.ts';
import { thisMachine } from '../src/policy/load/machine-files.ts';
import { H1Connection } from '../src/stages/accept/http/h1-connection.ts';
import { openCa } from '../src/stages/accept/tls/ca.ts';
import { Feed } from '../src/stages/audit/feed.ts';
import { Journal } from '../src/stages/audit/journal/journal.ts';
import { Metrics } from '../src/stages/audit/metrics.ts';
import { SandboxRegistry } from '../src/stages/identify/registry/registry.ts';
import { readStored } from '../src/stages/identify/registry/stored-registration.ts';

const connections = 64;
const host = 'api.test';
const answerBody = `{"data":"${'x'.repeat(1012)}"}\n`;
const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 15 Nov 2026 22:00:00 GMT\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${answerBody.length}\r\nLast-Modified: Sun, 15 Nov 2026 21:00:00 GMT\r\nConnection: keep-alive\r\n` +
    `ETag: "6557-400"\r\nAccept-Ranges: bytes\r\n\r\n${answerBody}`,
);
const request = Buffer.from(
  `GET /small.json HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: mb/1\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n` +
    'x-api-key: placeholder\r\nanthropic-version: 2023-06-01\r\nConnection: keep-alive\r\n\r\n',
);

type HeapNow = ReturnType<GCProfiler['stop']>['statistics'][number]['beforeGC'];

class PretendSocket extends EventEmitter {
  destroyed = false;
  writable = true;
  remoteAddress = '127.0.0.1';
  alpnProtocol = 'http/1.1';
  onWrite: (chunk: Buffer | string) => void = () => {};
  write(chunk: Buffer | string): boolean {
    this.onWrite(chunk);
    return true;
  }
  cork(): void {}
  uncork(): void {}
  end(): void {}
  pause(): void {}
  resume(): void {}
  destroy(): void {
    this.destroyed = true;
  }
  /** The part of a socket that the path uses. */
  asSocket(): Socket {
    return this as unknown as Socket;
  }
}

/** In words: CPU per request and what of it outlives collections, after `warmUp` requests that do not count. */
export async function measurePath(requests: number, warmUp: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'path-cost-'));
  try {
    let seenKeys = 0;
    pretendUpstreams((chunk) => {
      if (String(chunk).includes('secret-injected')) seenKeys++;
    });
    const { core, server, close } = await openPath(home);
    const collections = new GCProfiler();
    const used = await drive(core, server, requests, warmUp, collections);
    const outlived = outlivedBytes(collections.stop()) / requests;
    await close();
    if (seenKeys < requests + warmUp) throw new Error('nothing is measured: the credential did not arrive');
    const each = (microseconds: number): string => (microseconds / requests).toFixed(2);
    const parts = `user ${each(used.user)}, system ${each(used.system)}`;
    const cpu = `${each(used.user + used.system)} microseconds of CPU per request (${parts})`;
    return `${cpu}; ${Math.round(outlived)} bytes of each outlive the collection of young objects`;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** What collections of young objects have put among the old ones. */
function outlivedBytes({ statistics }: ReturnType<GCProfiler['stop']>): number {
  const oldBytes = ({ heapSpaceStatistics }: HeapNow): number =>
    heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0;
  return statistics
    .filter(({ gcType }) => gcType === 'Scavenge')
    .reduce((sum, { beforeGC, afterGC }) => sum + oldBytes(afterGC) - oldBytes(beforeGC), 0);
}

/** Whatever is dialled from now on in this process is answered by nobody but us. */
function pretendUpstreams(onWrite: (chunk: Buffer | string) => void): void {
  const dialled = (event: string) => (): Socket => {
    const socket = new PretendSocket();
    socket.onWrite = (chunk) => {
      onWrite(chunk);
      setImmediate(() => socket.emit('data', answer));
    };
    setImmediate(() => socket.emit(event));
    return socket.asSocket();
  };
  Object.assign(net, { connect: dialled('connect') });
  Object.assign(tls, { connect: dialled('secureConnect') });
  syncBuiltinESMExports();
}

async function openPath(home: string) {
  const keyFile = join(home, 'key');
  writeFileSync(keyFile, 'secret-injected\n', { mode: 0o600 });
  const text = `version: 1
allow: [{ host: ${host} }]
credentials: { bench: { hosts: [${host}], inject: { header: x-api-key }, source: { file: "${keyFile}" } } }
limits: { requests_per_minute: 600000000, concurrent_requests: 10000 }
audit: { sandbox_bytes_per_day: 0 }
upstream: { resolve: { ${host}: 127.0.0.1 } }
`;
  const loaded = await loadPolicyText(text, 'path-cost', '/', thisMachine());
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
  const policy = () => loaded.policy;
  const log = createLog({ level: 'error' });
  const journal = new Journal({ directory: join(home, 'journal'), ...policy().audit, log });
  const store = createEmbeddedStore({
    registrations: new FileRegistrations({ path: join(home, 'registry.json'), read: readStored }),
  });
  const knownCredentials = () => new Set(policy().credentials.keys());
  const registry = await SandboxRegistry.open({ store, knownCredentials, socketDirectory: home });
  await registry.register({ container_ip: '127.0.0.1' });
  const nobody = (): never => {
    throw new Error('nobody is asked here');
  };
  const asking: Asking = { ask: nobody };
  const inside: InsideApi = { refusalsOf: nobody, accessRequest: nobody, accessRequestsOf: nobody };
  const core = createGatewayCore({
    policy,
    ca: await openCa(join(home, 'ca')),
    registry,
    store,
    records: {
      journal,
      metrics: new Metrics(),
      feed: new Feed(),
    },
    journalWaitMs: () => 0,
    meters: store.meters,
    onDial: () => {},
    confirm: () => null,
    asking,
    approvals: new ApprovalsInForce(),
    inside,
    spoolDirectory: join(home, 'spool'),
    processes: 1,
    home,
    env: {},
    userKeys: false,
    log,
  });
  const server = createRequestServer({
    path: requestPath(core.stages),
    admission: admissionPath(core.stages),
    finish(flow, outcome) {
      if (outcome.verdict !== 'allowed') {
        console.error(`nothing is measured: a request was ${outcome.verdict}`, outcome.error ?? outcome.refusal);
        process.exit(1);
      }
      core.audit.finish(flow, outcome);
    },
    requireJournal: core.audit.requireJournal,
  });
  const close = async (): Promise<void> => {
    // The last answers are out; their records follow.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await core.drain(0);
    registry.close();
    journal.close();
  };
  return { core, server, close };
}

/** Each connection asks again when it is answered. */
async function drive(
  core: GatewayCore,
  server: RequestServer,
  requests: number,
  warmUp: number,
  collections: GCProfiler,
): Promise<NodeJS.CpuUsage> {
  const sweeper = new Sweeper();
  const settings = {
    sweeper,
    headBytes: 64 * 1024,
    requestBodyBytes: 0,
    clientHeadTimeoutMs: 1e6,
    idleTimeoutMs: 1e6,
    carriesCredential: core.inject.carriesCredential,
  };
  const caller = { door: 'bench', address: '127.0.0.1', socketOf: null, proxyAuthorization: null };
  const origin = { scheme: 'https' as const, connect: `${host}:443`, sni: host, destination: null };
  let sent = 0;
  let answered = 0;
  let before = process.cpuUsage();
  await new Promise<void>((resolve) => {
    for (let i = 0; i < connections; i++) {
      const socket = new PretendSocket();
      new H1Connection(socket.asSocket(), origin, settings, (raw, exchange) =>
        server.serve({ caller, request: raw, exchange }),
      );
      const next = (): void => {
        if (sent++ < warmUp + requests) socket.emit('data', request);
      };
      socket.onWrite = () => {
        answered++;
        if (answered === warmUp) {
          collections.start();
          before = process.cpuUsage();
        }
        if (answered === warmUp + requests) resolve();
        else setImmediate(next);
      };
      next();
    }
  });
  const used = process.cpuUsage(before);
  sweeper.stop();
  return used;
}
