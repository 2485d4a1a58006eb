// What every process that serves requests has, whether it is the whole gateway or one worker of it: the stages, the path
// through them, the credentials, the doors. Opens no door and owns no journal: both are the business of the role.
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { callerAddress } from '../../kit/canonical-address.ts';
import { Spool } from '../../kit/files/spool.ts';
import { openFileLimit, roomForConnections, roomForKept } from '../../kit/open-files.ts';
import { Sweeper } from '../../kit/sweeper.ts';
import type { Log } from '../../kit/text/log.ts';
import type { Asking, InsideApi } from '../../path/approvals.ts';
import { admissionPath, requestPath, type Stages } from '../../path/paths.ts';
import type { SharedMeters, SharedStore } from '../../path/shared-store.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { explainPolicy } from '../../policy/explain/explain-policy.ts';
import { createAcceptStage } from '../../stages/accept/accept-stage.ts';
import { createDnsLimits } from '../../stages/accept/dns/dns-limits.ts';
import { ConnectionLimits } from '../../stages/accept/doors/connection-limits.ts';
import { Doors } from '../../stages/accept/doors/doors.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import { LeafMinter } from '../../stages/accept/tls/leaf.ts';
import { type Audit, type AuditParts, createAudit } from '../../stages/audit/audit-stage.ts';
import { createAuthorizeStage } from '../../stages/authorize/authorize-stage.ts';
import { PushMemory } from '../../stages/authorize/git/push-memory.ts';
import { PushRoom } from '../../stages/authorize/git/push-room.ts';
import type { GithubPorts } from '../../stages/authorize/github/github-ports.ts';
import { ModelBudget } from '../../stages/authorize/limits/budget.ts';
import { createCallerBrake } from '../../stages/authorize/limits/flood-brake.ts';
import { RequestLimits } from '../../stages/authorize/limits/limits.ts';
import { lookupBySystem } from '../../stages/forward/dial/find-upstream.ts';
import { createForwardStage, type WatchedForwardStage } from '../../stages/forward/forward-stage.ts';
import { createIdentifyStage } from '../../stages/identify/identify-stage.ts';
import { refuseNoLongerServed } from '../../stages/identify/refuse-unserved.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { InjectStage } from '../../stages/inject/inject-stage.ts';
import { LfsTicketStore } from '../../stages/inject/lfs/lfs-ticket-store.ts';
import { LfsTicketVault } from '../../stages/inject/lfs/lfs-ticket-vault.ts';
import { openProxyLogin } from '../../stages/inject/proxy-login.ts';
import type { KnownSecrets } from '../../stages/inject/scrub/known-secrets.ts';
import type { SecretStore } from '../../stages/inject/secret-store.ts';
import type { ApprovalsInForce } from '../approvals/approvals-in-force.ts';
import { createInside } from '../inside/answer-inside.ts';
import type { ReservedPorts } from '../ports/reserved-ports.ts';
import { createGithubQuestions } from '../questions/ask-github.ts';
import { createGitServer } from '../questions/git-server.ts';
import { createRequestServer } from '../serve-request.ts';
import { createPlainPorts } from './plain-ports.ts';
import { RequestTime } from './request-time.ts';
import { createSecretGuard, createSecretKeeping } from './secret-keeping.ts';

export interface CoreParts {
  readonly policy: () => CompiledPolicy;
  readonly ca: Ca;
  readonly registry: SandboxRegistry;
  /** What is known together with other processes and gateways. */
  readonly store: SharedStore;
  /** Where finished requests are written down. */
  readonly records: Pick<AuditParts, 'journal' | 'metrics' | 'feed' | 'refusals'>;
  /** How long a sandbox must wait until it may write into the journal again. */
  readonly journalWaitMs: (sandboxId: string) => number;
  /** What limits are counted on, by all processes and gateways that share them. */
  readonly meters: SharedMeters;
  /** Where several gateways share the meters: which of them this is. */
  readonly gatewayName?: string;
  readonly onDial: (succeeded: boolean) => void;
  /** Ports of this host that no sandbox is led to; absent: no sandbox is led to any. */
  readonly reserved?: Pick<ReservedPorts, 'whyNot' | 'isPublished'>;
  /** Whether the caller at an address must wait for Docker's word. */
  readonly confirm: (address: string) => Promise<void> | null;
  /** Who holds a request until a person has answered. */
  readonly asking: Asking;
  /** What people have approved for a while. */
  readonly approvals: ApprovalsInForce;
  /** Whom the page inside the sandbox asks. */
  readonly inside: InsideApi;
  readonly spoolDirectory: string;
  /** By how many processes the room on disk is shared. */
  readonly processes: number;
  /** The home of the gateway's user. */
  readonly home: string;
  /** Where credentials that are variables are taken from, and out of. */
  readonly env: NodeJS.ProcessEnv;
  readonly userKeys: boolean;
  readonly log: Log;
}

export interface GatewayCore {
  readonly leaves: LeafMinter;
  readonly secrets: SecretStore;
  readonly inject: InjectStage;
  readonly known: KnownSecrets;
  readonly forward: WatchedForwardStage;
  readonly github: GithubPorts;
  readonly lfsTickets: LfsTicketStore;
  readonly budget: ModelBudget;
  readonly stages: Stages;
  readonly audit: Audit;
  readonly doors: Doors;
  /** Another policy is in force. */
  configure(policy: CompiledPolicy): void;
  /** The sandbox is gone: whatever this process has for it goes at once. */
  drop(sandboxId: string): void;
  /** Lets requests end, for so long at most; then nothing of it is left but what the role owns. */
  drain(graceMs: number): Promise<void>;
}

export function createGatewayCore(parts: CoreParts): GatewayCore {
  // Connections live long and requests do not, but both are made of the same kinds of objects: V8 would learn from the first
  // to put all of them where only a full collection looks, and every request would outlive itself (docs/adr/054).
  setFlagsFromString('--no-allocation-site-pretenuring');
  const { policy, ca, registry, log } = parts;
  const limits = () => policy().limits;
  const leaves = new LeafMinter(ca);
  const instance = `sallyport-${ca.fingerprint.replaceAll(':', '').slice(0, 12).toLowerCase()}`;
  // What is in this process alone need not be told to anybody.
  const sharing = parts.processes > 1 || parts.store.name !== 'embedded' ? parts.store : null;
  const lfsTickets = new LfsTicketStore({}, sharing === null ? null : new LfsTicketVault(sharing.vault));
  const guard = createSecretGuard({ policy, registry, log });
  const { known, masked } = guard;
  const { reserved } = parts;
  const sweeper = new Sweeper();
  const forward = createForwardStage(
    {
      policy,
      lookup: lookupBySystem,
      instance,
      environmentRoots: environmentRoots(),
      onDial: parts.onDial,
      proxyLogin: openProxyLogin(policy, parts.env, known),
      ...(reserved !== undefined && {
        whyNotHostPort: (port: number) => reserved.whyNot(port),
        isPublished: (address: string, port: number) => reserved.isPublished(address, port),
      }),
      keptUpstreams: roomForKept(openFileLimit()),
      onCircuit: ({ change, ...detail }) => {
        if (change === 'opened') log.warn('the gateway stops calling an upstream for now', detail);
        else log.info('an upstream answers again', detail);
      },
    },
    sweeper,
    createInside({
      api: parts.inside,
      clean: masked,
      explain: (sandbox) =>
        explainPolicy(parts.approvals.policyFor(policy(), sandbox.id), sandbox, { audience: 'sandbox' }),
    }),
  );
  const { secrets, inject } = createSecretKeeping({
    guard,
    policy,
    forward,
    registry,
    lfsTickets,
    sharing,
    home: parts.home,
    env: parts.env,
    userKeys: parts.userKeys,
    log,
  });
  const spool = new Spool(parts.spoolDirectory, () => Math.floor(policy().limits.spoolBytes / parts.processes));
  const github: GithubPorts = {
    openGitServer: createGitServer({ inject, forward, spool }),
    questions: createGithubQuestions({ inject, forward }),
  };
  const budget = new ModelBudget({ tallies: parts.store.tallies, budgets: () => policy().budgets });
  const audit = createAudit({ ...parts.records, log, clean: masked });
  const stages: Stages = {
    accept: createAcceptStage(instance),
    identify: createIdentifyStage(registry),
    authorize: createAuthorizeStage(
      policy,
      new RequestLimits({ limits, meters: parts.meters, journalWaitMs: parts.journalWaitMs }),
      {
        spool,
        pushRoom: new PushRoom(),
        pushMemory: new PushMemory({ epoch: policy }),
        ...github,
        lfsTickets,
        budget,
        asking: parts.asking,
        approvals: parts.approvals,
        clean: masked,
        demandServed: (sandbox) => {
          audit.requireJournal();
          refuseNoLongerServed(registry, sandbox);
        },
      },
    ),
    inject,
    forward,
  };
  const requests = createRequestServer({
    path: requestPath(stages),
    admission: admissionPath(stages),
    finish: audit.finish,
    requireJournal: audit.requireJournal,
    brake: createCallerBrake(),
    requestTime: new RequestTime(sweeper, () => policy().limits.requestTimeoutMs),
  });
  const counting = { limits, meters: parts.meters, gateway: parts.gatewayName ?? '' };
  const doors = new Doors({
    ports: {
      ...requests,
      countQuestion: createDnsLimits(counting),
      plain: createPlainPorts(policy, registry, parts.approvals),
      answersUnknown: () => policy().dns.unknown === 'answer',
      confirm: parts.confirm,
      contextFor: (host) => leaves.contextFor(host),
      settings: () => {
        const { headBytes, requestBodyBytes, clientHeadTimeoutMs, idleTimeoutMs } = policy().limits;
        const { carriesCredential } = inject;
        return { sweeper, headBytes, requestBodyBytes, clientHeadTimeoutMs, idleTimeoutMs, carriesCredential };
      },
    },
    gate: new ConnectionLimits({
      ...counting,
      room: roomForConnections(openFileLimit()),
      isRegistered: (address) => registry.lookUpAddress(callerAddress(address) ?? '') !== undefined,
      record: requests.serve,
    }),
  });
  registry.onLapsed((id) => doors.endConnections(id));
  return {
    leaves,
    secrets,
    inject,
    known,
    forward,
    github,
    lfsTickets,
    budget,
    stages,
    audit,
    doors,
    configure(changed) {
      secrets.configure(changed.credentials);
      // Kept connections were made under the old upstream settings.
      forward.drop(null);
      doors.judgeAgain();
    },
    drop(id) {
      doors.cut(id);
      forward.drop(id);
      lfsTickets.drop(id);
      secrets.drop(id);
    },
    async drain(graceMs) {
      await doors.drain(graceMs);
      await secrets.close();
      forward.drop(null);
      sweeper.stop();
    },
  };
}

/** Node adds these roots by itself only where no others are given; ours are always given. */
function environmentRoots(): string[] {
  const path = process.env.NODE_EXTRA_CA_CERTS;
  if (path === undefined || path === '') return [];
  try {
    return [readFileSync(path, 'utf8')];
  } catch {
    return [];
  }
}
