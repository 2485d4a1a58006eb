// The gateway's live events, also across its restarts: connects, hands on what comes, and when the other end is gone tries again
// until it is told to stop. While it is connected somebody watches, so that people can be asked.
import { type AdminClient, AdminRefused, GatewayUnreachable } from '../../gateway/admin/admin-client.ts';
import type { HealthReport } from '../../gateway/admin/admin-ports.ts';
import type { FeedRecord, WatchedGateway } from './watch-view.ts';

export interface GatewayFollower {
  onEvent(event: FeedRecord): void;
  /** Connected, or asked again how it is. */
  onGateway(gateway: WatchedGateway): void;
  /** It is gone; another attempt follows. */
  onLost(message: string): void;
}

const againMs = 1_000;

/** Resolves when `signal` is aborted. Throws when there is no gateway to begin with. */
export async function followGateway(
  admin: Pick<AdminClient, 'call' | 'lines'>,
  follower: GatewayFollower,
  signal: AbortSignal,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = pause,
): Promise<void> {
  let isFirst = true;
  while (!signal.aborted) {
    try {
      follower.onGateway(await askGateway(admin));
      isFirst = false;
      for await (const event of admin.lines('/internal/watch', signal)) follower.onEvent(event);
      if (!signal.aborted) follower.onLost('the gateway has closed the connection');
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !(error instanceof GatewayUnreachable)) throw error;
      follower.onLost(`${error.message}; trying again`);
    }
    await wait(againMs, signal);
  }
}

export async function askGateway(admin: Pick<AdminClient, 'call'>): Promise<WatchedGateway> {
  try {
    const { ready, version, sandboxes } = await admin.call<HealthReport>('GET', '/internal/health');
    return { ready, version, sandboxes };
  } catch (error) {
    // It answers, and says that something is missing.
    if (error instanceof AdminRefused && error.status === 503) return { ready: false, version: '', sandboxes: 0 };
    throw error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
