// What every process that serves requests has, whether it is the whole gateway or one worker of it: the stages, the path
// through them, the credentials, the doors. Opens no door and owns no journal: both are the business of the role.
import { readFileSync } from 'node:fs';
import { createAcceptStage } from './accept/accept-stage.ts';
import type { Ca } from './accept/ca.ts';
import { ConnectionLimits } from './accept/connection-limits.ts';
import { createDnsLimits } from './accept/dns-limits.ts';
import { Doors } from './accept/doors.ts';
import { LeafMinter } from './accept/leaf.ts';
import type { ApprovalsInForce } from './approvals/approvals-in-force.ts';
import { createGithubQuestions } from './ask-github.ts';
import { type Audit, type AuditParts, createAudit } from './audit/audit-stage.ts';
import { createAuthorizeStage } from './authorize/authorize-stage.ts';
import { ModelBudget } from './authorize/budget.ts';
import { createCallerBrake } from './authorize/flood-brake.ts';
import { PushRoom } from './authorize/git/push-room.ts';
import type { GithubPorts } from './authorize/github/github-ports.ts';
import { RequestLimits } from './authorize/limits.ts';
import type { Asking, InsideDesk } from './flow/approvals.ts';
import type { SharedMeters, SharedStore } from './flow/shared-store.ts';
import { lookupBySystem } from './forward/find-upstream.ts';
import { createForwardStage, type WatchedForwardStage } from './forward/forward-stage.ts';
import { createGitServer } from './git-server.ts';
import { callerAddress } from './identify/canonical-address.ts';
import { createIdentifyStage } from './identify/identify-stage.ts';
import { refuseNoLongerServed } from './identify/refuse-unserved.ts';
import type { SandboxRegistry } from './identify/registry.ts';
import type { InjectStage } from './inject/inject-stage.ts';
import type { KnownSecrets } from './inject/known-secrets.ts';
import { LfsTicketStore } from './inject/lfs-ticket-store.ts';
import { LfsTicketVault } from './inject/lfs-ticket-vault.ts';
import type { SecretStore } from './inject/secret-store.ts';
import { createInside } from './inside/answer-inside.ts';
import type { Log } from './kit/log.ts';
import { openFileLimit, roomForConnections, roomForKept } from './kit/open-files.ts';
import { Spool } from './kit/spool.ts';
import { Sweeper } from './kit/sweeper.ts';
import type { CompiledPolicy } from './policy/compiled.ts';
import { explainPolicy } from './policy/explain-policy.ts';
import { admissionPath, requestPath, type Stages } from './request-path.ts';
import { RequestTime } from './request-time.ts';
import { createSecretKeeping } from './secret-keeping.ts';
import { createRequestServer } from './serve-request.ts';

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
  /** Whether the caller at an address must wait for Docker's word. */
  readonly confirm: (address: string) => Promise<void> | null;
  /** Who holds a request until a person has answered. */
  readonly asking: Asking;
  /** What people have approved for a while. */
  readonly approvals: ApprovalsInForce;
  /** Whom the page inside the sandbox asks. */
  readonly inside: InsideDesk;
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
  const { policy, ca, registry, log } = parts;
  const limits = () => policy().limits;
  const leaves = new LeafMinter(ca);
  const instance = `sallyport-${ca.fingerprint.replaceAll(':', '').slice(0, 12).toLowerCase()}`;
  // What is in this process alone need not be told to anybody.
  const sharing = parts.processes > 1 || parts.store.name !== 'embedded' ? parts.store : null;
  const lfsTickets = new LfsTicketStore({}, sharing === null ? null : new LfsTicketVault(sharing.vault));
  const { secrets, inject, known, masked } = createSecretKeeping({
    policy,
    forward: () => forward,
    registry: () => registry,
    lfsTickets,
    sharing,
    home: parts.home,
    env: parts.env,
    userKeys: parts.userKeys,
    log,
  });
  const sweeper = new Sweeper();
  const forward: WatchedForwardStage = createForwardStage(
    {
      policy,
      lookup: lookupBySystem,
      instance,
      environmentRoots: environmentRoots(),
      onDial: parts.onDial,
      keptUpstreams: roomForKept(openFileLimit()),
      onCircuit: ({ change, ...detail }) => {
        if (change === 'opened') log.warn('an upstream is left alone for a moment', detail);
        else log.info('an upstream answers again', detail);
      },
    },
    sweeper,
    createInside({
      desk: parts.inside,
      clean: masked,
      explain: (sandbox) =>
        explainPolicy(parts.approvals.policyFor(policy(), sandbox.id), sandbox, { audience: 'sandbox' }),
    }),
  );
  const spool = new Spool(parts.spoolDirectory, () => Math.floor(policy().limits.spoolBytes / parts.processes));
  const github: GithubPorts = {
    openGitServer: createGitServer({ inject, forward, spool }),
    questions: createGithubQuestions({ inject, forward }),
  };
  const budget = new ModelBudget({ tallies: parts.store.tallies, budgets: () => policy().budgets });
  const stages: Stages = {
    accept: createAcceptStage(instance),
    identify: createIdentifyStage(registry),
    authorize: createAuthorizeStage(
      policy,
      new RequestLimits({ limits, meters: parts.meters, journalWaitMs: parts.journalWaitMs }),
      {
        spool,
        pushRoom: new PushRoom(),
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
  const audit = createAudit({ ...parts.records, log, clean: masked });
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
