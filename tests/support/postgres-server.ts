// A real PostgreSQL on loopback, with a cluster of its own, as an ordinary user: it refuses to be root. Nothing of it outlives the
// test file.
import { execFile, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterThisFile } from './after-this-file.ts';
import { eventually } from './eventually.ts';
import { keptPort } from './kept-port.ts';

const exec = promisify(execFile);
const uid = 65_534;
const asNobody = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];

/** Of Debian, whichever version it has. */
export function postgresPrograms(): string {
  const [version] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
  return `/usr/lib/postgresql/${version}/bin`;
}

export interface PostgresServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Whoever connects over loopback is `postgres`, without a password. */
export async function startPostgres(): Promise<PostgresServer> {
  const programs = postgresPrograms();
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-postgres-'));
  chownSync(folder, uid, uid);
  const data = join(folder, 'data');
  const port = await keptPort();
  const made = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync', '-D', data];
  await exec('setpriv', [...asNobody, join(programs, 'initdb'), ...made], { env: {}, cwd: folder });
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' };
  const child = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', ...asNobody, join(programs, 'postgres'), '-D', data, '-p', String(port)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { env: {}, cwd: folder, stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async (): Promise<void> => {
    child.kill('SIGQUIT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  afterThisFile(stop);
  const ask = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-Atc', 'select 1'];
  await eventually(
    () =>
      exec('psql', ask).then(
        ({ stdout }) => stdout === '1\n',
        () => false,
      ),
    'PostgreSQL answers',
  );
  return { port, stop };
}
