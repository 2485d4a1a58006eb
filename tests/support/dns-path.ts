// DNS questions on the real stages, without sockets: a registry with one sandbox, a policy the test may change, and what
// was written down.

import { createRequestServer } from '../../src/gateway/serve-request.ts';
import { admissionPath } from '../../src/path/paths.ts';
import { createAcceptStage } from '../../src/stages/accept/accept-stage.ts';
import type { DnsPorts } from '../../src/stages/accept/dns/dns-door.ts';
import { createLookup } from '../../src/stages/accept/dns/dns-lookup.ts';
import { describeFlow, type RecordBody } from '../../src/stages/audit/journal/record.ts';
import { createAuthorizeStage } from '../../src/stages/authorize/authorize-stage.ts';
import { createIdentifyStage } from '../../src/stages/identify/identify-stage.ts';
import type { SandboxRegistry } from '../../src/stages/identify/registry/registry.ts';
import { callerFrom, noGitPorts } from './hand-made-flow.ts';
import { requestLimits } from './hand-made-gate.ts';
import { type HandMadePolicy, handMadePolicy } from './hand-made-policy.ts';
import { openTestRegistry, type TestClock } from './memory-registry.ts';

export interface DnsPath extends DnsPorts {
  readonly id: string;
  readonly records: RecordBody[];
  readonly registry: SandboxRegistry;
  readonly clock: TestClock;
  setPolicy(policy: HandMadePolicy): void;
  /** Null: records can be kept. */
  journalFault: Error | null;
  advance(ms: number): void;
}

export async function openDnsPath(made: HandMadePolicy, inWords = false): Promise<DnsPath> {
  const { registry, clock } = await openTestRegistry();
  const { record } = await registry.register({ proof: ['socket'] });
  let policy = handMadePolicy(made);
  let nowMs = 0;
  const records: RecordBody[] = [];
  const limits = requestLimits({ requestsPerMinute: 1, burst: 1, concurrentRequests: 1 });
  const never = (): never => {
    throw new Error('a lookup is not forwarded');
  };
  const stages = {
    accept: createAcceptStage('sallyport-test'),
    identify: createIdentifyStage(registry),
    authorize: createAuthorizeStage(() => policy, limits, noGitPorts),
    inject: { name: 'inject', run: never },
    forward: { name: 'forward', run: never },
  };
  const server = createRequestServer({
    path: { run: never, next: never },
    admission: admissionPath(stages),
    finish: (flow, outcome) => records.push(describeFlow(flow, outcome)),
    requireJournal: () => {
      if (path.journalFault !== null) throw path.journalFault;
    },
  });
  const caller = callerFrom({ door: `namespace ${record.id}`, socketOf: record.id });
  const path: DnsPath = {
    ...createLookup(
      { ...server, countQuestion: () => null },
      caller,
      () => inWords,
      () => nowMs,
    ),
    id: record.id,
    records,
    registry,
    clock,
    journalFault: null,
    setPolicy: (next) => {
      policy = handMadePolicy(next);
    },
    advance: (ms) => {
      nowMs += ms;
      clock.advance(ms);
    },
  };
  return path;
}
