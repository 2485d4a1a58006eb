// The dashboard, on loopback, in the gateway's own process: its server, its sessions, what it is fed with. Listens only
// where it was told to; who wants in needs an address with a token, which the admin socket alone gives out.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isIP } from 'node:net';
import type { ListenAddress } from '../../policy/compiled.ts';
import type { FedRecord } from './fed-record.ts';
import type { PageAsset } from './page-assets.ts';
import { PageData, type PageSources } from './page-data.ts';
import { PageSessions } from './page-sessions.ts';
import { PageStreams, type PageStreamsOptions } from './page-streams.ts';
import { ownHosts } from './refuse-foreign.ts';
import { servePage } from './serve-page.ts';
import { VisitDoor } from './visit-door.ts';
import { VisitTokens } from './visit-tokens.ts';

export interface DashboardOptions extends Omit<PageSources, 'now'> {
  /** Port 0: a free one. */
  readonly listen: ListenAddress;
  readonly assets: ReadonlyMap<string, PageAsset>;
  /** The live feed: how to hear of every finished request, and how to stop hearing. Null: it takes no more listeners. */
  readonly subscribe: (listener: (record: FedRecord) => void) => (() => void) | null;
  readonly watch: PageStreamsOptions['watch'];
  readonly onFault: (what: string, error: unknown) => void;
  readonly now?: () => number;
  /** What a wrong token waits; replaced in tests. */
  readonly pause?: () => Promise<void>;
}

export interface Dashboard {
  /** e.g. `http://127.0.0.1:8642` */
  readonly origin: string;
  /** An address that opens the page, once. */
  invite(): string;
  /** Ends every session and every open page. */
  close(): Promise<void>;
}

/** Another program listens there. */
export class DashboardTaken extends Error {
  override readonly name = 'DashboardTaken';
}

const maxConnections = 64;

export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const now = options.now ?? Date.now;
  const { onFault, ports } = options;
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 5_000,
  });
  server.maxConnections = maxConnections;
  const servedAt = await listen(server, options.listen);
  const { port } = servedAt;
  const sessions = new PageSessions(now);
  const tokens = new VisitTokens(now);
  const cookieName = `sallyport_${port}`;
  const data = new PageData({ ...options, now });
  const streams = new PageStreams({ data, watch: options.watch, touch: (session) => sessions.touch(session), onFault });
  const door = new VisitDoor({
    tokens,
    sessions,
    cookieName,
    ...(options.pause !== undefined && { pause: options.pause }),
  });
  const { assets } = options;
  const parts = { hosts: ownHosts(servedAt), cookieName, assets, sessions, door, streams, ports, data, onFault };
  server.on('request', (request, response) => void servePage(parts, request, response));

  const unsubscribe = options.subscribe((record) => {
    data.take(record);
    streams.take(record);
  });
  if (unsubscribe === null)
    onFault('the dashboard does not get requests', new Error('the live feed has no room for it'));
  const origin = `http://${isIP(servedAt.address) === 6 ? `[${servedAt.address}]` : servedAt.address}:${port}`;
  return {
    origin,
    invite: () => `${origin}/enter?token=${tokens.mint()}`,
    close: async () => {
      unsubscribe?.();
      sessions.endAll();
      streams.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, { host, port }: ListenAddress): Promise<AddressInfo> {
  const listening = once(server, 'listening');
  server.listen({ host, port, exclusive: true });
  try {
    await listening;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code !== 'EADDRINUSE') throw error;
    throw new DashboardTaken(
      `the dashboard cannot be served on ${host}:${port}: another program listens there. ` +
        'Stop it, or write another port at listen.dashboard in sallyport.yaml.',
      { cause: error },
    );
  }
  server.on('error', () => {});
  return server.address() as AddressInfo;
}
