// Answers what one worker asks of people, in the gateway's own process. A worker can ask only for sandboxes that exist, and
// what it has asked is withdrawn when it ends: nobody waits for the answer any more.
import type { Asking, InsideApi } from '../../path/approvals.ts';
import type { Handlers } from './channel.ts';
import type { ApprovalVerbs } from './worker-verbs.ts';

export interface ApprovalsServerParts {
  readonly asking: Asking;
  readonly inside: InsideApi;
  readonly isRegistered: (sandbox: string) => boolean;
}

export interface ApprovalsServer {
  readonly handlers: Handlers<ApprovalVerbs>;
  /** The worker has ended. */
  gone(): void;
}

export function createApprovalsServer({ asking, inside, isRegistered }: ApprovalsServerParts): ApprovalsServer {
  /** By the worker's own number of the question. */
  const waiting = new Map<number, AbortController>();
  return {
    handlers: {
      async ask({ number, asked }) {
        if (waiting.has(number)) throw new Error(`question ${number} waits already`);
        // Unregistered while the question was on its way.
        if (!isRegistered(asked.sandbox)) return { granted: false, why: 'gone', by: null };
        const controller = new AbortController();
        waiting.set(number, controller);
        try {
          return await asking.ask(asked, controller.signal);
        } finally {
          waiting.delete(number);
        }
      },
      withdrawQuestion({ number }) {
        // Not there: it was answered meanwhile.
        waiting.get(number)?.abort();
        return null;
      },
      refusalsOf: async ({ sandbox }) => (isRegistered(sandbox) ? inside.refusalsOf(sandbox) : []),
      accessRequest: async ({ sandbox, accessRequest }) =>
        isRegistered(sandbox) ? inside.accessRequest(sandbox, accessRequest) : { refused: 'nobody-watches' },
      accessRequestsOf: async ({ sandbox }) => (isRegistered(sandbox) ? inside.accessRequestsOf(sandbox) : []),
    },
    gone() {
      for (const controller of [...waiting.values()]) controller.abort();
    },
  };
}
