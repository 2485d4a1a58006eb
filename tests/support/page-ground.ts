// A server of the dashboard with a stand-in gateway behind it: what it is fed and what it is asked are in the test's
// hands, and so is its clock. A real socket on loopback.

import type { PolicyLine } from '../../src/gateway/admin/admin-ports.ts';
import { LineChanged } from '../../src/gateway/admin/line-changed.ts';
import { type Dashboard, startDashboard } from '../../src/gateway/dashboard/dashboard-server.ts';
import type { FedRecord } from '../../src/gateway/dashboard/fed-record.ts';
import type { PageAsset } from '../../src/gateway/dashboard/page-assets.ts';
import type { ApprovalScope, PersonsAnswer, Question } from '../../src/path/approvals.ts';
import { type FakePorts, fakePorts } from '../unit/gateway/admin/fake-ports.ts';
import { handMadePolicy } from './hand-made-policy.ts';
import { PageClient } from './page-client.ts';

export interface PageGround {
  readonly dashboard: Dashboard;
  readonly ports: FakePorts;
  readonly questions: Question[];
  readonly answers: PersonsAnswer[];
  readonly faults: string[];
  /** By what the clock of the server is ahead. */
  readonly clock: { aheadMs: number };
  /** Pages that count as a person who watches: 0 or 1. */
  readonly watching: { count: number };
  /** How often a wrong token was made to wait. */
  readonly paused: { count: number };
  /** One request has ended. */
  feed(record?: Partial<FedRecord>): void;
  /** The questions have changed. */
  tellQuestions(): void;
  enter(): Promise<PageClient>;
  stop(): Promise<void>;
}

const assets: ReadonlyMap<string, PageAsset> = new Map([
  ['/', { type: 'text/html; charset=utf-8', body: Buffer.from('<!doctype html><title>the page</title>') }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', body: Buffer.from('export {};') }],
]);

function lineFor(scope: ApprovalScope): PolicyLine {
  const host = `${scope}.example`;
  return { file: 'sallyport.yaml', line: 7, text: `  - host: ${host}\n`, covers: `all of ${host}` };
}

export async function startPageGround(): Promise<PageGround> {
  const ports = fakePorts();
  const questions: Question[] = [];
  const answers: PersonsAnswer[] = [];
  const faults: string[] = [];
  const clock = { aheadMs: 0 };
  const watching = { count: 0 };
  const paused = { count: 0 };
  let listener: (record: FedRecord) => void = () => {};
  let changed = (): void => {};
  const dashboard = await startDashboard({
    listen: { host: '127.0.0.1', port: 0 },
    assets,
    ports: {
      ...ports,
      questions: {
        ...ports.questions,
        list: () => questions,
        preview: async (_id, scope) => lineFor(scope),
        answer: async (id, answer) => {
          if (answer.answer === 'approve' && answer.for === 'always') {
            const now = lineFor(answer.scope);
            if (answer.line !== now.text) throw new LineChanged(now, 'it would write another line now', '');
          }
          answers.push(answer);
          return { said: `${id} is answered` };
        },
        withdraw: async (id) => id === 'a1',
      },
    },
    policy: () => handMadePolicy({}),
    isLearning: (sandbox) => sandbox === 'learner',
    subscribe: (heard) => {
      listener = heard;
      return () => {
        listener = () => {};
      };
    },
    watch: (signal, tell) => {
      watching.count++;
      changed = tell;
      signal.addEventListener('abort', () => watching.count--, { once: true });
    },
    onFault: (what, error) => faults.push(`${what}: ${error instanceof Error ? error.message : error}`),
    now: () => Date.now() + clock.aheadMs,
    pause: async () => {
      paused.count++;
    },
  });
  return {
    dashboard,
    ports,
    questions,
    answers,
    faults,
    clock,
    watching,
    paused,
    feed: (record = {}) => listener(fedRecord(record)),
    tellQuestions: () => changed(),
    enter: () => PageClient.enter(dashboard.invite()),
    stop: () => dashboard.close(),
  };
}

let count = 0;

export function fedRecord(record: Partial<FedRecord> = {}): FedRecord {
  return {
    id: `r${++count}`,
    time: '2027-01-15T00:00:00.000Z',
    sandbox: 'sbx_1',
    method: 'GET',
    scheme: 'https',
    host: 'api.example.com',
    port: 443,
    path: '/v1/x',
    kind: 'http',
    verdict: 'allowed',
    status: 200,
    code: null,
    ms: 3.5,
    rule: 'allow[0]',
    reason: null,
    hint: null,
    bytes_in: 10,
    bytes_out: 20,
    tokens_in: 0,
    tokens_out: 0,
    cost_usd: 0,
    ...record,
  };
}

export function aQuestion(question: Partial<Question> = {}): Question {
  return {
    id: 'q1',
    sandbox: 'sbx_1',
    method: 'POST',
    scheme: 'https',
    host: 'api.example.com',
    port: 443,
    path: '/v1/x',
    query: null,
    rule: 'allow[0]',
    credential: null,
    effect: null,
    repository: null,
    requestId: 'r1',
    reason: null,
    askedAtMs: 1,
    untilMs: 2,
    inVain: null,
    ...question,
  };
}
