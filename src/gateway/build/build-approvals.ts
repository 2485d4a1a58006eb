// Puts together what people are asked with: the service, what they approved, and what of it the path, the admin API and the
// page inside a sandbox are given. Decides nothing itself: whether an access request would pass is asked of the code that the path runs.

import type { ApprovalSet, Asking, InsideApi } from '../../path/approvals.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { MachineFiles } from '../../policy/load/machine-files.ts';
import type { Feed } from '../../stages/audit/feed.ts';
import { RecentRefusals } from '../../stages/audit/recent-refusals.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import { AdminError } from '../admin/admin-error.ts';
import type { AdminPorts, QuestionPorts, WatchEvent } from '../admin/admin-ports.ts';
import { LineChanged } from '../admin/line-changed.ts';
import { AnswerRefused, LineNotAgreed } from '../approvals/answer-refused.ts';
import { ApprovalService } from '../approvals/approval-service.ts';
import { ApprovalsInForce } from '../approvals/approvals-in-force.ts';
import { EventQueue } from '../approvals/event-queue.ts';
import { whyNoLearning } from '../approvals/learning-view.ts';
import { createApprovalNotes, type GrantJournal } from './approval-notes.ts';
import { judgeAccessRequest } from './judge-access-request.ts';
import { createLineOffer } from './offer-line.ts';

export interface ApprovalsParts {
  readonly policy: () => CompiledPolicy;
  readonly registry: Pick<SandboxRegistry, 'lookUpId' | 'onRemoved'>;
  readonly feed: Pick<Feed, 'subscribe'>;
  readonly journal: GrantJournal;
  /** Through which the configuration file is read, to be shown with one more line. */
  readonly machine: MachineFiles;
  /** Throws when the configuration file as it lies there would not be followed. */
  readonly checkMayFollow: () => void;
  /** Brings the file as it is now into force, everywhere. */
  readonly reload: () => Promise<void>;
  /** Tells the workers; resolves when it is in force in all of them. */
  readonly spread: (set: ApprovalSet) => Promise<void>;
}

export interface Approvals {
  readonly asking: Asking;
  readonly approvals: ApprovalsInForce;
  readonly inside: InsideApi;
  /** Where refused requests are remembered for their sandboxes. */
  readonly refusals: Pick<RecentRefusals, 'take'>;
  readonly questions: QuestionPorts;
  readonly startLearning: AdminPorts['startLearning'];
  /** How many look on, and how many questions wait. */
  readonly watchers: number;
  readonly waiting: number;
  /** The gateway ends: nothing waits any longer. */
  close(): void;
  /** Somebody looks on until the returned function is called. */
  watching(): () => void;
  /** Called when there is another question, or one less; returns how to stop. */
  onQuestion(listener: () => void): () => void;
}

/** Requests for one who looks on: about a second of a busy gateway. */
const queuedEvents = 1_000;

export function buildApprovals(parts: ApprovalsParts): Approvals {
  const approvals = new ApprovalsInForce();
  const service = new ApprovalService({
    settings: () => parts.policy().approvals,
    inForce: approvals,
    spread: parts.spread,
    ...createApprovalNotes(parts.journal),
    offerLine: createLineOffer(parts),
    judgeAccessRequest: (sandbox, accessRequest) => {
      const record = parts.registry.lookUpId(sandbox);
      if (record === undefined) throw new Error(`no sandbox ${sandbox}`);
      return judgeAccessRequest(parts.policy(), approvals, record, accessRequest);
    },
  });
  const refusals = new RecentRefusals();
  parts.registry.onRemoved((id) => {
    refusals.drop(id);
    // A worker that could not be told is one that has ended, and what it served with it.
    service.drop(id).catch(() => {});
  });

  async function* watch(signal: AbortSignal): AsyncGenerator<WatchEvent, void, void> {
    const queue = new EventQueue<WatchEvent>(queuedEvents, (count) => ({ event: 'lost', data: { count } }));
    const leave = service.watchers.begin();
    const unsubscribe = [
      service.subscribe((event) => queue.put(event, event.data.id)),
      parts.feed.subscribe((data) => queue.put({ event: 'request', data })),
    ];
    try {
      for (const data of service.list()) queue.put({ event: 'question', data }, data.id);
      yield* queue.read(signal);
    } finally {
      for (const stop of unsubscribe) stop?.();
      leave();
    }
  }

  return {
    asking: service,
    approvals,
    refusals: {
      // One that ends after its sandbox has gone is not told to the next of that name.
      take: (record) => {
        const now = record.sandbox === null ? undefined : parts.registry.lookUpId(record.sandbox);
        if (now !== undefined && now.createdAt <= record.time) refusals.take(record);
      },
    },
    inside: {
      refusalsOf: async (sandbox) => refusals.of(sandbox),
      accessRequest: async (sandbox, accessRequest) => service.accessRequest(sandbox, accessRequest),
      accessRequestsOf: async (sandbox) => service.accessRequestsOf(sandbox),
    },
    questions: {
      list: () => service.list(),
      approvals: () => service.approvals(),
      preview: (id, scope) => answering(() => service.preview(id, scope)),
      answer: (id, answer) => answering(async () => ({ said: await service.answer(id, answer) })),
      withdraw: (id, by) => service.withdraw(id, by),
      watch,
    },
    async startLearning(sandbox) {
      if (parts.registry.lookUpId(sandbox) === undefined) {
        throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${sandbox}`);
      }
      const why = whyNoLearning(parts.policy());
      if (why !== null) {
        throw new AdminError(
          409,
          'learning.not-here',
          `learning is not possible here: ${why}`,
          'Run it without --learn.',
        );
      }
      await answering(() => service.startLearning(sandbox));
    },
    get watchers() {
      return service.watchers.count;
    },
    get waiting() {
      return service.list().length;
    },
    close: () => service.close(),
    watching: () => service.watchers.begin(),
    onQuestion: (listener) => service.subscribe(() => listener()),
  };
}

const statusOf = { unknown: 404, 'not-so': 409, moved: 409, unrecorded: 503 } as const;

async function answering<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof AnswerRefused)) throw error;
    const { reason, message, hint } = error;
    if (error instanceof LineNotAgreed) throw new LineChanged(error.line, message, hint);
    const code = reason === 'unrecorded' ? 'audit.unavailable' : `question.${reason}`;
    throw new AdminError(statusOf[reason], code, message, hint);
  }
}
