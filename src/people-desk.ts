// Puts together what people are asked with: the desk, what they approved, and what of it the path, the admin API and the
// page inside a sandbox are given. Decides nothing itself: whether a wish would pass is asked of the code that the path runs.
import { AdminError } from './admin/admin-error.ts';
import type { AdminPorts, QuestionPorts, WatchEvent } from './admin/admin-ports.ts';
import { LineChanged } from './admin/line-changed.ts';
import { createApprovalNotes, type GrantJournal } from './approval-notes.ts';
import { AnswerRefused, LineNotAgreed } from './approvals/answer-refused.ts';
import { ApprovalDesk } from './approvals/approval-desk.ts';
import { ApprovalsInForce } from './approvals/approvals-in-force.ts';
import { EventQueue } from './approvals/event-queue.ts';
import { whyNoLearning } from './approvals/learning-view.ts';
import type { Feed } from './audit/feed.ts';
import { RecentRefusals } from './audit/recent-refusals.ts';
import type { ApprovalSet, Asking, InsideDesk } from './flow/approvals.ts';
import type { SandboxRegistry } from './identify/registry.ts';
import { judgeWish } from './judge-wish.ts';
import { createLineOffer } from './offer-line.ts';
import type { CompiledPolicy } from './policy/compiled.ts';
import type { MachineFiles } from './policy/machine-files.ts';

export interface PeopleParts {
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

export interface PeopleDesk {
  readonly asking: Asking;
  readonly approvals: ApprovalsInForce;
  readonly inside: InsideDesk;
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

export function createPeopleDesk(parts: PeopleParts): PeopleDesk {
  const approvals = new ApprovalsInForce();
  const desk = new ApprovalDesk({
    settings: () => parts.policy().approvals,
    inForce: approvals,
    spread: parts.spread,
    ...createApprovalNotes(parts.journal),
    offerLine: createLineOffer(parts),
    judgeWish: (sandbox, wish) => {
      const record = parts.registry.lookUpId(sandbox);
      if (record === undefined) throw new Error(`no sandbox ${sandbox}`);
      return judgeWish(parts.policy(), approvals, record, wish);
    },
  });
  const refusals = new RecentRefusals();
  parts.registry.onRemoved((id) => {
    refusals.drop(id);
    // A worker that could not be told is one that has ended, and what it served with it.
    desk.drop(id).catch(() => {});
  });

  async function* watch(signal: AbortSignal): AsyncGenerator<WatchEvent, void, void> {
    const queue = new EventQueue<WatchEvent>(queuedEvents, (count) => ({ event: 'lost', data: { count } }));
    const leave = desk.watchers.begin();
    const unsubscribe = [
      desk.subscribe((event) => queue.put(event, event.data.id)),
      parts.feed.subscribe((data) => queue.put({ event: 'request', data })),
    ];
    try {
      for (const data of desk.list()) queue.put({ event: 'question', data }, data.id);
      yield* queue.read(signal);
    } finally {
      for (const stop of unsubscribe) stop?.();
      leave();
    }
  }

  return {
    asking: desk,
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
      wish: async (sandbox, wish) => desk.wish(sandbox, wish),
      wishesOf: async (sandbox) => desk.wishesOf(sandbox),
    },
    questions: {
      list: () => desk.list(),
      approvals: () => desk.approvals(),
      preview: (id, scope) => answering(() => desk.preview(id, scope)),
      answer: (id, answer) => answering(async () => ({ said: await desk.answer(id, answer) })),
      withdraw: (id, by) => desk.withdraw(id, by),
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
          `nothing can be learned here: ${why}`,
          'Run it without --learn.',
        );
      }
      await answering(() => desk.startLearning(sandbox));
    },
    get watchers() {
      return desk.watchers.count;
    },
    get waiting() {
      return desk.list().length;
    },
    close: () => desk.close(),
    watching: () => desk.watchers.begin(),
    onQuestion: (listener) => desk.subscribe(() => listener()),
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
