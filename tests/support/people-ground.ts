// The approvals as a gateway puts it together, with a feed, a journal and a policy that the test holds in its hands.

import { type Approvals, type ApprovalsParts, buildApprovals } from '../../src/gateway/build/build-approvals.ts';
import type { FeedListener } from '../../src/stages/audit/feed.ts';
import { sandboxWith } from './hand-made-flow.ts';
import { handMadePolicy } from './hand-made-policy.ts';

export interface PeopleGround {
  readonly people: Approvals;
  readonly journal: { healthy: boolean; readonly notes: Record<string, unknown>[] };
  /** One request has ended. */
  publish(): void;
}

export function openPeople(): PeopleGround {
  const notes: Record<string, unknown>[] = [];
  const journal = {
    healthy: true,
    notes,
    append: (note: object) => notes.push({ ...note }),
    flush: () => {},
  };
  const listeners = new Set<FeedListener>();
  const people = buildApprovals({
    policy: () => handMadePolicy({}),
    registry: { lookUpId: (id: string) => sandboxWith({ id }), onRemoved: () => () => {} },
    feed: {
      subscribe: (listener: FeedListener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    journal,
    spread: async () => {},
  } as unknown as ApprovalsParts);
  return {
    people,
    journal,
    publish: () => {
      for (const listener of listeners) listener({} as Parameters<FeedListener>[0]);
    },
  };
}
