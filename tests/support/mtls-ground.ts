// The mTLS door with the whole path behind it and a far side that answers for `far.example` (read), `pinned.example`
// (a tunnel) and `plain.example` (plain http). Its registry is in memory, and the test holds both CAs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequestServer } from '../../src/gateway/serve-request.ts';
import { Sweeper } from '../../src/kit/sweeper.ts';
import { admissionPath, requestPath, type Stages } from '../../src/path/paths.ts';
import { parseHostPattern } from '../../src/policy/host-pattern.ts';
import { createAcceptStage } from '../../src/stages/accept/accept-stage.ts';
import type { DoorPorts, OpenConnection } from '../../src/stages/accept/doors/door-ports.ts';
import { openMtlsDoor } from '../../src/stages/accept/doors/mtls-door.ts';
import { openProxyDoor } from '../../src/stages/accept/doors/proxy-door.ts';
import { type Ca, openCa } from '../../src/stages/accept/tls/ca.ts';
import { grantIdentity, IdentityCa, type IdentityWithKey } from '../../src/stages/accept/tls/identity-ca.ts';
import { createIdentityRenewal } from '../../src/stages/accept/tls/identity-renewal.ts';
import { LeafMinter } from '../../src/stages/accept/tls/leaf.ts';
import { describeFlow, type RecordBody } from '../../src/stages/audit/journal/record.ts';
import { createAuthorizeStage } from '../../src/stages/authorize/authorize-stage.ts';
import { createForwardStage } from '../../src/stages/forward/forward-stage.ts';
import { identifyForRenewal } from '../../src/stages/identify/identify-caller.ts';
import { createIdentifyStage } from '../../src/stages/identify/identify-stage.ts';
import type { MadeRecord } from '../../src/stages/identify/registry/make-record.ts';
import type { SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import { InjectStage } from '../../src/stages/inject/inject-stage.ts';
import { noGitPorts } from './hand-made-flow.ts';
import { requestLimits } from './hand-made-gate.ts';
import { handMadePolicy } from './hand-made-policy.ts';
import { openTestRegistry } from './memory-registry.ts';
import { makeSecretStore } from './secret-store.ts';

/** A registration as the one who made it has it. */
export interface KnownSandbox extends MadeRecord, IdentityWithKey {}

export interface MtlsGround {
  readonly port: number;
  /** An ordinary proxy door in front of the same path. */
  readonly proxyPort: number;
  readonly registry: SandboxRegistry;
  readonly identityCa: IdentityCa;
  readonly interceptionCa: Ca;
  /** Both CAs are in here, in `ca` and `identity-ca`, and room for files of a client. */
  readonly directory: string;
  readonly journal: RecordBody[];
  readonly reports: object[];
  readonly connections: Set<OpenConnection>;
  /** Moves the clock of the registry and of whoever signs, not that of OpenSSL. */
  readonly clock: { aheadMs: number };
  maxConnections: number;
  register(registration: Record<string, unknown>): Promise<KnownSandbox>;
  /** Puts text into a file and gives its path. */
  file(name: string, text: string): string;
  stop(): Promise<void>;
}

export interface FarSide {
  readonly address: string;
  readonly rootPath: string;
}

export async function openMtlsGround(farSide: FarSide | null = null): Promise<MtlsGround> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-mtls-'));
  const clock = { aheadMs: 0 };
  const now = (): number => Date.now() + clock.aheadMs;
  const identityCa = await IdentityCa.open(join(directory, 'identity-ca'), now);
  const interceptionCa = await openCa(join(directory, 'ca'));
  const leaves = new LeafMinter(interceptionCa);
  const { registry } = await openTestRegistry({ now });
  const [host, port] = (farSide?.address ?? '127.0.0.1:9').split(':');
  const made = handMadePolicy({
    allow: [
      { host: 'far.example' },
      { host: 'pinned.example', tunnel: true },
      { host: 'plain.example', plainHttp: true },
    ],
  });
  const inForce = {
    ...made,
    upstream: {
      resolve: made.allow.map((rule) => ({ host: patternOf(rule.host.text), address: host!, port: Number(port) })),
      extraRoots: farSide === null ? [] : [readFileSync(farSide.rootPath, 'utf8')],
      proxy: null,
    },
  };
  const policy = () => inForce;
  const sweeper = new Sweeper();
  const lookup = () => Promise.resolve([]);
  const forward = createForwardStage(
    { policy, lookup, instance: 'test', environmentRoots: [], onDial: () => {} },
    sweeper,
  );
  const inject = new InjectStage(policy, makeSecretStore({}));
  const stages: Stages = {
    accept: createAcceptStage('test'),
    identify: createIdentifyStage(registry),
    authorize: createAuthorizeStage(policy, requestLimits(made.limits), noGitPorts),
    inject,
    forward,
  };
  const journal: RecordBody[] = [];
  const reports: object[] = [];
  const requests = createRequestServer({
    path: requestPath(stages),
    admission: admissionPath(stages),
    finish: (flow, outcome) => journal.push(describeFlow(flow, outcome)),
    requireJournal: () => {},
  });
  const connections = new Set<OpenConnection>();
  const { headBytes, requestBodyBytes, clientHeadTimeoutMs, idleTimeoutMs } = made.limits;
  const ports: DoorPorts = {
    ...requests,
    confirm: () => null,
    countQuestion: () => null,
    answersUnknown: () => false,
    contextFor: (name) => leaves.contextFor(name),
    settings: () => ({
      sweeper,
      headBytes,
      requestBodyBytes,
      clientHeadTimeoutMs,
      idleTimeoutMs,
      carriesCredential: inject.carriesCredential,
    }),
    opened: (connection) => {
      if (connections.size >= ground.maxConnections) return 'limit.connections';
      connections.add(connection);
      return true;
    },
    identified: () => true,
    closed: (connection) => connections.delete(connection),
  };
  registry.onRemoved((id) => {
    for (const connection of connections) if (connection.sandboxId === id) connection.destroy();
  });
  const renew = createIdentityRenewal({
    ca: identityCa,
    identify: (caller) => identifyForRenewal(registry, caller),
    report: (what, detail) => reports.push({ what, ...detail }),
    now,
  });
  const door = openMtlsDoor({ name: 'mtls 127.0.0.1:0', ca: identityCa, renew, now }, ports);
  const proxy = openProxyDoor({ name: 'proxy 127.0.0.1:0', socketOf: null }, ports);
  const ground: MtlsGround = {
    port: await listen(door),
    proxyPort: await listen(proxy),
    registry,
    identityCa,
    interceptionCa,
    directory,
    journal,
    reports,
    connections,
    clock,
    maxConnections: 1024,
    async register(registration) {
      const registered = await registry.register(registration);
      return { ...registered, ...grantIdentity(identityCa, registered.record) };
    },
    file(name, text) {
      const path = join(directory, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
    async stop() {
      door.close();
      proxy.close();
      for (const connection of connections) connection.destroy();
      forward.drop(null);
      sweeper.stop();
      registry.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return ground;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function patternOf(text: string) {
  const parsed = parseHostPattern(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}
