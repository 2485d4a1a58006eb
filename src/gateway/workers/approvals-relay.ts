// Whom a worker asks where a gateway of one process asks its own approvals: a request that waits for a person, and the page inside
// a sandbox. Everything goes to the gateway's own process, which has the approvals. What is not answered is a no.
import type { Asked, Asking, InsideApi, Verdict } from '../../path/approvals.ts';
import type { Channel } from './channel.ts';
import type { ToPrimary, ToWorker } from './worker-verbs.ts';

export interface ApprovalsRelay {
  readonly asking: Asking;
  readonly inside: InsideApi;
}

export interface ApprovalsRelayParts {
  readonly channel: Pick<Channel<ToPrimary, ToWorker>, 'ask' | 'tell'>;
  /** Sends the records that wait: what was refused a moment ago is known before anybody asks what was. */
  readonly flushRecords: () => void;
}

const gone: Verdict = { granted: false, why: 'gone', by: null };

export function createApprovalsRelay({ channel, flushRecords }: ApprovalsRelayParts): ApprovalsRelay {
  let asked = 0;
  return {
    asking: { ask: (what, signal) => ask(channel, ++asked, what, signal) },
    inside: {
      refusalsOf(sandbox) {
        flushRecords();
        return channel.ask('refusalsOf', { sandbox });
      },
      accessRequest: (sandbox, accessRequest) => channel.ask('accessRequest', { sandbox, accessRequest }),
      accessRequestsOf: (sandbox) => channel.ask('accessRequestsOf', { sandbox }),
    },
  };
}

async function ask(
  channel: ApprovalsRelayParts['channel'],
  number: number,
  asked: Asked,
  signal: AbortSignal,
): Promise<Verdict> {
  if (signal.aborted) return gone;
  const withdraw = (): void => channel.tell('withdrawQuestion', { number });
  signal.addEventListener('abort', withdraw, { once: true });
  try {
    // A question that is withdrawn is answered too: with `gone`.
    return await channel.ask('ask', { number, asked });
  } catch (error) {
    if (signal.aborted) return gone;
    // Whoever waits is still there, and is to be told that it was not asked.
    throw error;
  } finally {
    signal.removeEventListener('abort', withdraw);
  }
}
