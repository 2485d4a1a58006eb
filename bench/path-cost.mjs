#!/usr/bin/env node
// What the gateway's own code costs per small request, without kernel and TLS: the built path is driven through
// sockets that only pretend, with identity, policy, injection and journal on. Prints microseconds of CPU per request.
// usage: node bench/path-cost.mjs [requests]     (first: npx tsc -p tsconfig.build.json; --cpu-prof works on it)
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAcceptStage } from '../.sallyport-build/modules/accept/accept-stage.js';
import { H1Connection } from '../.sallyport-build/modules/accept/h1-connection.js';
import { ApprovalsInForce } from '../.sallyport-build/modules/approvals/approvals-in-force.js';
import { createAudit } from '../.sallyport-build/modules/audit/audit-stage.js';
import { Feed } from '../.sallyport-build/modules/audit/feed.js';
import { Journal } from '../.sallyport-build/modules/audit/journal.js';
import { Metrics } from '../.sallyport-build/modules/audit/metrics.js';
import { createAuthorizeStage } from '../.sallyport-build/modules/authorize/authorize-stage.js';
import { ModelBudget } from '../.sallyport-build/modules/authorize/budget.js';
import { RequestLimits } from '../.sallyport-build/modules/authorize/limits.js';
import { learn } from '../.sallyport-build/modules/flow/learn.js';
import { relayH1 } from '../.sallyport-build/modules/forward/h1-relay.js';
import { KeepingRoom } from '../.sallyport-build/modules/forward/retry-body.js';
import { retryUnauthorized } from '../.sallyport-build/modules/forward/retry-unauthorized.js';
import { H1Upstream, UpstreamPool } from '../.sallyport-build/modules/forward/upstream-pool.js';
import { createIdentifyStage } from '../.sallyport-build/modules/identify/identify-stage.js';
import { SandboxRegistry } from '../.sallyport-build/modules/identify/registry.js';
import { readStored } from '../.sallyport-build/modules/identify/stored-registration.js';
import { LfsTicketStore } from '../.sallyport-build/modules/inject/lfs-ticket-store.js';
import { createLog } from '../.sallyport-build/modules/kit/log.js';
import { Sweeper } from '../.sallyport-build/modules/kit/sweeper.js';
import { loadPolicyText } from '../.sallyport-build/modules/policy/load-policy.js';
import { thisMachine } from '../.sallyport-build/modules/policy/machine-files.js';
import { admissionPath, requestPath } from '../.sallyport-build/modules/request-path.js';
import { createSecretGuard, createSecretKeeping } from '../.sallyport-build/modules/secret-keeping.js';
import { createRequestServer } from '../.sallyport-build/modules/serve-request.js';
import { createEmbeddedStore } from '../.sallyport-build/modules/store/embedded-store.js';
import { FileRegistrations } from '../.sallyport-build/modules/store/file-registrations.js';

const requests = Number(process.argv[2] ?? 200_000);
const connections = 64;

class PretendSocket extends EventEmitter {
  destroyed = false;
  writable = true;
  onWrite = () => {};
  write(chunk) {
    this.onWrite(chunk);
    return true;
  }
  cork() {}
  uncork() {}
  end() {}
  pause() {}
  resume() {}
  destroy() {
    this.destroyed = true;
  }
}

const home = mkdtempSync(join(tmpdir(), 'path-cost-'));
const keyFile = join(home, 'key');
writeFileSync(keyFile, 'secret-injected\n', { mode: 0o600 });
const text = `version: 1
allow: [{ host: api.test, ports: [9443] }]
credentials: { bench: { hosts: [api.test], inject: { header: x-api-key }, source: { file: "${keyFile}" } } }
limits: { requests_per_minute: 600000000, concurrent_requests: 10000 }
audit: { sandbox_bytes_per_day: 0 }
`;
const loaded = await loadPolicyText(text, 'path-cost', '/', thisMachine());
if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
const policy = () => loaded.policy;
const log = createLog({ level: 'error' });
const journal = new Journal({ directory: join(home, 'journal'), ...policy().audit, log });
const registrations = new FileRegistrations({
  path: join(home, 'registry.json'),
  read: readStored,
  onFailure: () => {},
});
const store = createEmbeddedStore({ registrations });
const registry = await SandboxRegistry.open({
  store,
  knownCredentials: () => policy().credentials,
  socketDirectory: home,
});
await registry.register({ container_ip: '127.0.0.1' });
const sweeper = new Sweeper();
const pool = new UpstreamPool(sweeper);
const { limits } = policy();
const relaySettings = {
  sweeper,
  headBytes: limits.headBytes,
  headersTimeoutMs: 1e6,
  idleTimeoutMs: 1e6,
  watch: { answered() {}, unanswered() {} },
};

const answerBody = `{"data":"${'x'.repeat(1012)}"}\n`;
const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 15 Nov 2026 22:00:00 GMT\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${answerBody.length}\r\nLast-Modified: Sun, 15 Nov 2026 21:00:00 GMT\r\nConnection: keep-alive\r\n` +
    `ETag: "6557-400"\r\nX-Seen-Key: secret-injected\r\nAccept-Ranges: bytes\r\n\r\n${answerBody}`,
);
const request = Buffer.from(
  'GET /small.json HTTP/1.1\r\nHost: api.test:9443\r\nUser-Agent: mb/1\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n' +
    'x-api-key: placeholder\r\nanthropic-version: 2023-06-01\r\nConnection: keep-alive\r\n\r\n',
);

const room = new KeepingRoom();
const key = 'bench';
for (let i = 0; i < 4 * connections; i++) {
  const socket = new PretendSocket();
  const upstream = new H1Upstream(key, { socket, protocol: 'http/1.1', address: '127.0.0.1:9443' }, sweeper);
  socket.onWrite = () => setImmediate(() => socket.emit('data', answer));
  pool.give(upstream, 'timeout=3600');
}
const forward = {
  name: 'forward',
  run: (flow) =>
    retryUnauthorized(flow, flow.outgoing.renew, room, (one) => relayH1(pool.take(key), one, pool, relaySettings)).then(
      (end) => learn(flow, end),
    ),
};
const { inject } = createSecretKeeping({
  guard: createSecretGuard({ policy, registry, log }),
  policy,
  forward,
  registry,
  lfsTickets: new LfsTicketStore(),
  home,
  userKeys: false,
  log,
});
const stages = {
  accept: createAcceptStage('sallyport-bench'),
  identify: createIdentifyStage(registry),
  authorize: createAuthorizeStage(policy, new RequestLimits({ limits: () => limits, meters: store.meters }), {
    budget: new ModelBudget({ tallies: store.tallies, budgets: () => policy().budgets }),
    approvals: new ApprovalsInForce(),
  }),
  inject,
  forward,
};
const metrics = new Metrics();
const audit = createAudit({ journal, metrics, feed: new Feed(), log });
const server = createRequestServer({
  path: requestPath(stages),
  admission: admissionPath(stages),
  finish(flow, outcome) {
    if (outcome.verdict !== 'allowed') {
      console.error(`nothing is measured: a request was ${outcome.verdict}`, outcome.error ?? outcome.refusal);
      process.exit(1);
    }
    audit.finish(flow, outcome);
  },
  requireJournal: audit.requireJournal,
});

const warmUp = 20_000;
let sent = 0;
let answered = 0;
let before = process.cpuUsage();
const settings = {
  sweeper,
  headBytes: limits.headBytes,
  requestBodyBytes: 0,
  clientHeadTimeoutMs: 1e6,
  idleTimeoutMs: 1e6,
  carriesCredential: () => false,
};
await new Promise((resolve) => {
  for (let i = 0; i < connections; i++) {
    const socket = new PretendSocket();
    const caller = { door: 'bench', address: '127.0.0.1', socketOf: null, proxyAuthorization: null };
    const origin = { scheme: 'https', connect: 'api.test:9443', sni: 'api.test', destination: null };
    new H1Connection(socket, origin, settings, (raw, exchange) => server.serve({ caller, request: raw, exchange }));
    const next = () => {
      if (sent++ < warmUp + requests) socket.emit('data', request);
    };
    socket.onWrite = () => {
      answered++;
      if (answered === warmUp) before = process.cpuUsage();
      if (answered === warmUp + requests) resolve();
      else setImmediate(next);
    };
    next();
  }
});
const used = process.cpuUsage(before);
const each = (microseconds) => (microseconds / requests).toFixed(2);
console.log(
  `${each(used.user + used.system)} microseconds of CPU per request (user ${each(used.user)}, system ${each(used.system)})`,
);
journal.close();
await registry.close();
sweeper.stop();
rmSync(home, { recursive: true, force: true });
process.exit(0);
