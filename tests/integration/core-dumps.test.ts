// The memory of a sealed process is neither dumped nor read by its own user. Runs as an ordinary user, which takes root.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseOpenings } from '../../src/kit/process/core-dumps.ts';
import { Wire } from '../support/wire.ts';

// An ordinary user: root may trace everybody. The place must be readable for it.
const uid = 54_321;
const asUser = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
const root = fileURLToPath(new URL('../../', import.meta.url));
const started: ChildProcess[] = [];
let place = '';

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sallyport-seal-'));
  chmodSync(place, 0o755);
  chownSync(place, uid, uid);
  // One file, with nothing of the checkout in its way but the native library.
  const bundle = buildSync({
    stdin: { contents: script, resolveDir: join(root, 'src', 'kit', 'process'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['koffi'],
    write: false,
  });
  program = bundle.outputFiles[0]!.text.replaceAll(
    'require("koffi")',
    `require(${JSON.stringify(join(root, 'node_modules', 'koffi'))})`,
  );
});

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(place, { recursive: true, force: true });
});

const script = `
import { readSeal, sealMemory } from './core-dumps.ts';
import { execFileSync } from 'node:child_process';
const before = readSeal();
const after = process.env.SEALED === 'yes' ? sealMemory() : readSeal();
const child = execFileSync('/bin/sh', ['-c', 'ulimit -c; cat /proc/self/environ | tr -d "\\\\0" | wc -c']).toString();
console.log(JSON.stringify({ before, after, again: process.env.SEALED === 'yes' ? sealMemory() : null, child }));
setInterval(() => {}, 1000);
`;
let program = '';

async function start(sealed: boolean): Promise<{ child: ChildProcess; said: Record<string, unknown> }> {
  // Where core files are wanted, in a directory where they may be written.
  const child = spawn(
    'setpriv',
    [...asUser, 'sh', '-c', 'ulimit -c "$(ulimit -Hc)"; exec "$0" -e "$1"', process.execPath, program],
    {
      cwd: place,
      env: { PATH: process.env.PATH ?? '', SEALED: sealed ? 'yes' : 'no', NODE_OPTIONS: '--inspect-port=0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  started.push(child);
  const said = JSON.parse(await new Wire(child.stdout!).until('\n')) as Record<string, unknown>;
  return { child, said };
}

function readsMemory(pid: number): boolean {
  return spawnSync('setpriv', [...asUser, 'head', '-c', '1', `/proc/${pid}/environ`]).status === 0;
}

const endOf = (child: ChildProcess): Promise<string | null> =>
  new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));

/** Whether anybody listens where Node's debugger would. */
function debuggerListens(pid: number): boolean {
  const { stdout } = spawnSync('ss', ['-Hltnp'], { encoding: 'utf8' });
  return stdout.includes(`pid=${pid},`);
}

describe('a process whose memory is sealed', () => {
  test('is closed to others of the same user, where one that is not sealed is open', async () => {
    const open = await start(false);
    const sealed = await start(true);
    expect(open.said.after).toMatchObject({ live: false });
    expect(sealed.said).toMatchObject({ before: { live: false }, after: { live: true }, again: { live: true } });
    expect(readsMemory(open.child.pid!)).toBe(true);
    expect(readsMemory(sealed.child.pid!)).toBe(false);
  });

  test('opens no debugger at a signal', async () => {
    const open = await start(false);
    const sealed = await start(true);
    for (const { child } of [open, sealed]) process.kill(child.pid!, 'SIGUSR1');
    await expect.poll(() => debuggerListens(open.child.pid!)).toBe(true);
    expect(debuggerListens(sealed.child.pid!)).toBe(false);
    expect(sealed.child.exitCode).toBeNull();
  });

  test('leaves no core file when it crashes', async () => {
    const crash = async (sealed: boolean): Promise<number> => {
      const { child } = await start(sealed);
      const ended = endOf(child);
      process.kill(child.pid!, 'SIGABRT');
      expect(await ended).toBe('SIGABRT');
      return readdirSync(place).filter((name) => name.startsWith('core')).length;
    };
    expect(await crash(true)).toBe(0);
    // Where the machine keeps them beside the process, one that is not sealed leaves one here.
    const beside = /^core\b[^|/]*$/.test(readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim());
    const allowed = !/^Max core file size +\S+ +0 /m.test(readFileSync('/proc/self/limits', 'utf8'));
    expect(await crash(false)).toBe(beside && allowed ? 1 : 0);
  });

  test('leaves its children as they are, but for the limit of their core files', async () => {
    const { said } = await start(true);
    const [limit, environment] = String(said.child).trim().split('\n');
    expect(limit).toBe('0');
    expect(Number(environment)).toBeGreaterThan(0);
  });
});

describe('an option of Node that lays its memory open', () => {
  test.each([
    ['--inspect'],
    ['--inspect=0.0.0.0:9229'],
    ['--inspect_brk'],
    ['--report-on-signal'],
    ['--report-uncaught-exception'],
    ['--heapsnapshot-signal=SIGUSR2'],
    ['--heap-prof'],
    ['--tls-keylog=/tmp/keys'],
  ])('%s is refused in words, wherever it is given', (option) => {
    const name = option.split('=')[0]!.replaceAll('_', '-');
    expect(() => refuseOpenings([option], {})).toThrow(name);
    expect(() => refuseOpenings([], { NODE_OPTIONS: `--max-old-space-size=100 "${option}"` })).toThrow(name);
  });

  test('that prints the traffic is refused', () => {
    expect(() => refuseOpenings([], { NODE_DEBUG: 'http2' })).toThrow('NODE_DEBUG');
    expect(() => refuseOpenings([], { NODE_DEBUG_NATIVE: 'tls' })).toThrow('NODE_DEBUG_NATIVE');
  });

  test('that does not is taken', () => {
    const flags = ['--min-semi-space-size=8', '--inspect-port=0', '--report-dir=/tmp', '--enable-source-maps'];
    expect(() => refuseOpenings(flags, { NODE_OPTIONS: '--no-warnings', NODE_DEBUG: '' })).not.toThrow();
  });
});
