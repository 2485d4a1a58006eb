// The shim: the small process beside a sandbox that holds its key as a uid the agent does not have. It listens inside,
// serves the uids it was told to and nobody else, and leads their bytes to the gateway's mTLS door.
import { lstatSync, readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { HomeInUse } from '../../kit/files/home-in-use.ts';
import { readPeerCredentials } from '../../kit/process/peer-credentials.ts';
import type { Log } from '../../kit/text/log.ts';
import { serveClient } from './client-connection.ts';
import { dialGateway } from './dial-gateway.ts';
import { hasEnded, registerAgain } from './identity.ts';
import { IdentityFolder } from './identity-folder.ts';
import { IdentityKeeper } from './identity-keeper.ts';
import { findPeerUid } from './peer-uid.ts';
import { type ListenPlace, parseGateway, parseListen, showEndpoint } from './places.ts';
import { renewIdentity } from './renew-identity.ts';
import { ShimRefused } from './shim-refused.ts';
import { SocketTables } from './socket-table.ts';
import { SparedLog } from './spared-log.ts';

const maxConnections = 512;
/** Includes connections that are only being refused. Beyond this number a connection is closed without a message. */
const maxSockets = 2 * maxConnections;
const drainMs = 10_000;

export interface ShimOptions {
  /** As on the command line. */
  readonly gateway: string;
  readonly identity: string;
  readonly listen: string;
  readonly forUid: readonly string[];
  readonly log: Log;
}

export interface RunningShim {
  readonly sandbox: string;
  /** Where it really listens. */
  readonly listen: string;
  readonly gateway: string;
  /** When the certificate that it has now ends. */
  readonly expiresAt: string;
  /** Takes no new connections, gives those that are open ten seconds, then cuts them. */
  stop(): Promise<void>;
}

/** Throws `ShimRefused` where it must not or cannot run. */
export async function startShim(options: ShimOptions): Promise<RunningShim> {
  const gateway = parseGateway(options.gateway);
  const place = parseListen(options.listen);
  const served = parseUids(options.forUid);
  const own = lookAtOwnUser();
  for (const warning of checkUids(served, own)) options.log.warn(warning);

  const folder = new IdentityFolder(options.identity, own.uids[1]!);
  const first = await folder.load();
  if (hasEnded(first, Date.now())) {
    const until = new Date(first.validUntilMs).toISOString();
    throw new ShimRefused(`the certificate of the sandbox ${first.sandboxId} ended at ${until}`, registerAgain);
  }
  const keeper = new IdentityKeeper(first, {
    renew: (identity) => renewIdentity(gateway, identity),
    load: () => folder.load(),
    keep: (identity) => folder.keep(identity),
    log: options.log,
  });

  const tables = new SocketTables();
  if (place.kind === 'tcp') await checkTables(tables);
  const peerUid =
    place.kind === 'tcp'
      ? (client: Socket) => findPeerUid(client, tables)
      : async (client: Socket) => (await readPeerCredentials(client)).uid;
  const log = new SparedLog(options.log);
  const open = new Set<Socket>();
  let taken = 0;
  const takePlace = (client: Socket): boolean => {
    if (taken >= maxConnections) return false;
    taken++;
    client.once('close', () => taken--);
    return true;
  };
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    void serveClient(client, {
      served,
      peerUid,
      takePlace,
      identity: () => keeper.current,
      dial: (identity, protocol) => dialGateway(gateway, identity, protocol),
      log,
    });
  });
  server.maxConnections = maxSockets;
  const listen = await listenAt(server, place);
  // Not waited for: what it has is still good, and the gateway may be slow to come.
  void keeper.start();
  server.on('error', (error) => options.log.error('a connection could not be accepted', { error }));
  return {
    sandbox: keeper.current.sandboxId,
    listen,
    gateway: showEndpoint(gateway),
    get expiresAt() {
      return new Date(keeper.current.validUntilMs).toISOString();
    },
    async stop() {
      keeper.stop();
      await drain(server, open);
    },
  };
}

/** Without them nobody could be served: better said now than to every client. */
async function checkTables(tables: SocketTables): Promise<void> {
  try {
    await tables.read('tcp');
  } catch (cause) {
    throw new ShimRefused(
      'the shim cannot read /proc/self/net/tcp, which says whose a connection is',
      'Mount /proc for it, or use a Unix socket: --listen unix:/run/sallyport/shim.sock',
      cause,
    );
  }
}

async function listenAt(server: Server, place: ListenPlace): Promise<string> {
  if (place.kind === 'unix') {
    await listenAtPath(server, place.path);
    return `unix:${place.path}`;
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const what = cause.code === 'EADDRINUSE' ? 'something listens there already' : `${cause.code}`;
      const at = showEndpoint(place);
      reject(new ShimRefused(`the shim cannot listen on ${at}: ${what}`, 'Name another with --listen.', cause));
    });
    server.listen({ host: place.host, port: place.port, exclusive: true }, resolve);
  });
  server.removeAllListeners('error');
  const bound = server.address();
  const port = bound === null || typeof bound === 'string' ? place.port : bound.port;
  return showEndpoint({ host: place.host, port });
}

/** Any uid may knock; who it is, the kernel says. The folder must keep others from putting a socket of their own there. */
async function listenAtPath(server: Server, path: string): Promise<void> {
  const folder = dirname(path);
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  const own = process.geteuid?.();
  if (stats?.isDirectory() !== true || (stats.uid !== own && stats.uid !== 0) || (stats.mode & 0o022) !== 0) {
    throw new ShimRefused(
      `${folder} is not a folder that only uid ${own} can write to`,
      `Make one: install -d -o ${own} -m 755 ${folder}`,
    );
  }
  // It brings the foreign-function library, which a shim on loopback does not need.
  const { listenOnUnixSocket } = await import('../../kit/process/unix-listen.ts');
  try {
    await listenOnUnixSocket(server, path, { occupant: 'a shim', mode: 0o666 });
  } catch (error) {
    if (!(error instanceof HomeInUse)) throw error;
    throw new ShimRefused(`another shim listens on ${path}`, 'Stop it, or name another path with --listen.');
  }
}

function drain(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      for (const client of open) client.destroy();
    }, drainMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
  });
}

// Which uids the shim serves, and whether it may run as the one it has. The key is safe from the agent only because
// the kernel keeps one uid out of the files and the memory of another: so the shim never runs as a uid that it serves.
/** What the kernel says of this process and its user namespace. */
interface OwnUser {
  readonly uids: readonly number[];
  /** Every uid of the machine has a number here. */
  readonly seesEveryUid: boolean;
  /** The number that stands for every uid without one. */
  readonly overflowUid: number;
}

/** (uid_t)-1 means "none" to the kernel. */
const largestUid = 0xfffffffe;

export function parseUids(words: readonly string[]): ReadonlySet<number> {
  for (const word of words) {
    if (/^\d{1,10}$/.test(word) && Number(word) <= largestUid) continue;
    throw new ShimRefused(`--for-uid ${word} is not a uid`, 'Write the number: `id -u` in the sandbox prints it.');
  }
  return new Set(words.map(Number));
}

/** Throws where the agent could come at the key. Returns what the operator should know all the same. */
export function checkUids(served: ReadonlySet<number>, own: OwnUser): readonly string[] {
  if (served.size === 0) throw new ShimRefused('the shim serves nobody', 'Name the uid of the agent: --for-uid UID');
  const same = own.uids.find((uid) => served.has(uid));
  if (same !== undefined) {
    throw new ShimRefused(
      `the shim runs as uid ${same} and is to serve uid ${same}, which could then read its key`,
      'Start the shim as a uid of its own: setpriv --reuid=UID --regid=GID --clear-groups sallyport shim …',
    );
  }
  if (own.uids.includes(0)) {
    throw new ShimRefused(
      'the shim does not run as root: it needs no right that root has',
      'Start it as a uid of its own: setpriv --reuid=UID --regid=GID --clear-groups sallyport shim …',
    );
  }
  if (!own.seesEveryUid && served.has(own.overflowUid)) {
    throw new ShimRefused(
      `uid ${own.overflowUid} stands for every uid that has no number in this user namespace: the shim would serve them all`,
      'Let the agent run as another uid, and name that one with --for-uid.',
    );
  }
  if (!served.has(0)) return [];
  return [
    'serves uid 0: root reads the key of the shim, unless it has no capabilities, or is in another container than the shim',
  ];
}

export function lookAtOwnUser(): OwnUser {
  const { getuid, geteuid } = process;
  if (getuid === undefined || geteuid === undefined) throw new ShimRefused('there are no uids here', 'Use Linux.');
  return {
    uids: [getuid.call(process), geteuid.call(process)],
    seesEveryUid: /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8')),
    overflowUid: Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8')),
  };
}
