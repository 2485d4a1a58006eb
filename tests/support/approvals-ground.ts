// The service that asks people, with a clock that the test moves, and everything it says kept for the test.

import type { ApprovalNote, ApprovalOptions, JudgedAccessRequest } from '../../src/gateway/approvals/approval-ports.ts';
import { ApprovalService } from '../../src/gateway/approvals/approval-service.ts';
import { ApprovalsInForce } from '../../src/gateway/approvals/approvals-in-force.ts';
import type { AccessRequest, ApprovalSet, Asked } from '../../src/path/approvals.ts';

export interface ApprovalsGround {
  readonly service: ApprovalService;
  readonly inForce: ApprovalsInForce;
  readonly notes: ApprovalNote[];
  readonly told: ApprovalSet[];
  readonly written: string[];
  /** Time passes, and what is due by then happens. */
  pass(ms: number): void;
  nowMs(): number;
}

export function askedFor(path = '/v1/things', more: Partial<Asked> = {}): Asked {
  return {
    sandbox: 'one',
    method: 'POST',
    scheme: 'https',
    host: 'ask.example',
    port: 443,
    path,
    query: null,
    rule: 'allow[0]',
    credential: null,
    effect: null,
    repository: null,
    requestId: 'r1',
    reason: null,
    ...more,
  };
}

export const anAccessRequest: AccessRequest = {
  method: 'GET',
  scheme: 'https',
  host: 'requested.example',
  port: 443,
  path: '/',
  reason: 'the tests need it',
};

const refusedToday: JudgedAccessRequest = {
  passes: false,
  tunnel: false,
  rule: 'allow (no rule covers the host)',
  credential: null,
  effect: null,
  repository: null,
  inVain: null,
};

export function openApprovals(
  more: Partial<ApprovalOptions> & { readonly judged?: Partial<JudgedAccessRequest> } = {},
): ApprovalsGround {
  let nowMs = 1_000_000;
  let questions = 0;
  const due = new Set<{ readonly atMs: number; readonly act: () => void }>();
  const notes: ApprovalNote[] = [];
  const told: ApprovalSet[] = [];
  const written: string[] = [];
  const now = (): number => nowMs;
  const inForce = new ApprovalsInForce({ now });
  const service = new ApprovalService({
    settings: () => ({ answerWithinMs: 120_000, held: 5, heldPerSandbox: 3 }),
    inForce,
    spread: async (set) => {
      told.push(set);
    },
    note: (note) => {
      notes.push(note);
    },
    noteGrant: (note) => {
      notes.push(note);
    },
    // So that a test can say which one it means.
    newId: () => `q${++questions}`,
    judgeAccessRequest: () => ({ ...refusedToday, ...more.judged }),
    offerLine: async ({ host }) => ({
      preview: { file: '/sallyport.yaml', line: 3, text: `  - { host: ${host} }`, covers: `all of ${host}` },
      write: async () => {
        written.push(host);
      },
    }),
    now,
    later: (act, ms) => {
      const one = { atMs: nowMs + ms, act };
      due.add(one);
      return () => due.delete(one);
    },
    ...more,
  });
  return {
    service,
    inForce,
    notes,
    told,
    written,
    nowMs: now,
    pass(ms) {
      nowMs += ms;
      for (const one of [...due]) {
        if (one.atMs > nowMs || !due.delete(one)) continue;
        one.act();
      }
    },
  };
}
