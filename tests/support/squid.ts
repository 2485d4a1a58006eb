// A real squid on loopback, as a company has one: it lets nobody out without a login, and leads every CONNECT to the same far
// side, whatever address it is asked for. Its log says what it was asked for. Nothing of it outlives the test file.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from './after-this-file.ts';
import { eventually } from './eventually.ts';
import { keptPort } from './kept-port.ts';

export interface Squid {
  readonly port: number;
  /** `STATUS METHOD WHAT USER` of each request so far. */
  log(): string[];
}

export interface SquidOptions {
  readonly username: string;
  readonly password: string;
  /** `127.0.0.1:PORT`. */
  readonly farSide: string;
  /** A regular expression: what it opens no way to. */
  readonly refuses?: string;
}

export async function startSquid({ username, password, farSide, refuses }: SquidOptions): Promise<Squid> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-squid-'));
  // It takes up another user when root starts it.
  chmodSync(folder, 0o777);
  const at = (name: string): string => join(folder, name);
  const port = await keptPort();
  const hash = execFileSync('openssl', ['passwd', '-apr1', '-stdin'], { input: password }).toString().trim();
  writeFileSync(at('users'), `${username}:${hash}\n`);
  writeFileSync(
    at('squid.conf'),
    `http_port 127.0.0.1:${port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${at('users')}
auth_param basic children 1
acl known proxy_auth REQUIRED
${refuses === undefined ? '' : `acl refused url_regex ${refuses}\nhttp_access deny refused`}
http_access allow known
http_access deny all
cache_peer 127.0.0.1 parent ${await leadTo(farSide)} 0 no-query no-digest
never_direct allow all
cache deny all
logformat asked %>Hs %rm %ru %un
access_log stdio:${at('access.log')} asked
cache_log ${at('cache.log')}
pid_filename ${at('squid.pid')}
coredump_dir ${folder}
visible_hostname proxy.test
dns_nameservers 127.0.0.1
pinger_enable off
shutdown_lifetime 0 seconds
`,
  );
  const child = spawn('squid', ['-N', '-f', at('squid.conf')], { stdio: 'ignore' });
  afterThisFile(async () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`squid ended: ${readFileSync(at('cache.log'), 'utf8')}`);
    return accepts(port);
  }, 'squid answers');
  return {
    port,
    log: () => {
      try {
        return readFileSync(at('access.log'), 'utf8').split('\n').filter(Boolean);
      } catch {
        return [];
      }
    },
  };
}

/** The next proxy behind it, which opens the same way whatever it is asked for. Its port. */
async function leadTo(farSide: string): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let head = '';
    const onData = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', onData);
      const next = connect(Number(farSide.split(':')[1]), '127.0.0.1');
      for (const one of [socket, next]) {
        sockets.add(one);
        one.on('error', () => one.destroy());
      }
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      next.pipe(socket).pipe(next);
    };
    socket.on('data', onData);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterThisFile(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const found = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.on('connect', found(true)).on('error', found(false));
  });
}
