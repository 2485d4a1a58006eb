// The page for people of this gateway: whether one is served, where, and what it is given of the other rooms. Its server is
// loaded only where there is a page. Serves nothing itself.

import { inPackage } from '../../kit/files/package-root.ts';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy, ListenAddress } from '../../policy/compiled.ts';
import type { Feed } from '../../stages/audit/feed.ts';
import type { AdminPorts } from '../admin/admin-ports.ts';
import type { StartOptions } from '../contract.ts';
import type { Dashboard } from '../dashboard/dashboard-server.ts';
import type { ReservedPorts } from '../ports/reserved-ports.ts';
import type { Approvals } from './build-approvals.ts';

export interface DashboardParts {
  readonly options: Pick<StartOptions, 'doors' | 'listen' | 'dashboard'>;
  readonly policy: () => CompiledPolicy;
  readonly people: Pick<Approvals, 'approvals' | 'watching' | 'onQuestion'>;
  readonly feed: Pick<Feed, 'subscribe'>;
  readonly reserved: Pick<ReservedPorts, 'note'>;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

export interface GatewayDashboard {
  /** An address that opens the page, once; null: none is served. */
  readonly invite: () => string | null;
  /** Where it is served; null: nowhere. */
  readonly origin: () => string | null;
  /** Where the policy or whoever started the gateway wants one. `admin`: what the page shows and asks for. */
  open(admin: AdminPorts): Promise<void>;
  /** Somebody asks for it: where none is served, it is from now on. Returns an address that opens it, once. */
  openOnRequest(admin: AdminPorts): Promise<string>;
  readonly close: () => Promise<void>;
}

/** A free port, for a gateway that the configuration gives none. */
const anyPort: ListenAddress = { host: '127.0.0.1', port: 0 };

export function buildDashboard(parts: DashboardParts): GatewayDashboard {
  const { options, policy, log } = parts;
  let page: Dashboard | null = null;
  return {
    invite: () => page?.invite() ?? null,
    origin: () => page?.origin ?? null,
    async open(admin) {
      const configured = options.listen?.dashboard ?? policy().listen.dashboard;
      const listen = configured ?? (options.dashboard === true ? anyPort : null);
      if (listen === null) return;
      // Of several gateways of one user the first has the configured port; the page of another is on a free one.
      if (options.doors !== 'sandboxes') page = await serve(parts, admin, listen);
      else page = await serve(parts, admin, listen).catch((error: unknown) => elsewhere(admin, error));
    },
    async openOnRequest(admin) {
      page ??= await serve(parts, admin, anyPort);
      return page.invite();
    },
    close: async () => {
      await page?.close();
      page = null;
    },
  };

  function elsewhere(admin: AdminPorts, error: unknown): Promise<Dashboard> {
    if (!(error instanceof Error) || error.name !== 'DashboardTaken') throw error;
    log.warn(error.message);
    return serve(parts, admin, anyPort);
  }
}

async function serve(
  { policy, people, feed, reserved, log }: DashboardParts,
  admin: AdminPorts,
  listen: ListenAddress,
): Promise<Dashboard> {
  const { startDashboard } = await import('../dashboard/dashboard-server.ts');
  const { readPageAssets } = await import('../dashboard/page-assets.ts');
  const page = await startDashboard({
    listen,
    assets: readPageAssets(inPackage('dashboard')),
    ports: admin,
    policy,
    isLearning: (sandbox) => people.approvals.isLearning(sandbox),
    subscribe: (listener) => feed.subscribe(listener),
    watch: (signal, changed) => {
      const stop = [people.watching(), people.onQuestion(changed)];
      signal.addEventListener('abort', () => stop.forEach((end) => void end()), { once: true });
    },
    onFault: (what, error) => log.error(what, { error }),
  });
  reserved.note(new URL(page.origin).host, 'the dashboard');
  return page;
}
