// The package as npm packs it: what is in it, and that it works where it is installed, as a command on PATH, by npx and as a
// library. Its dependencies are those of this clone: nothing is downloaded.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asUser } from '../support/namespace.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const uid = 54_321;
let ground: string;
let files: string[];
let bytes: number;
/** As `npm install` leaves it. */
const modules = (): string => join(ground, 'project', 'node_modules');

beforeAll(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-package-'));
  chmodSync(ground, 0o755);
  const tree = join(ground, 'clone');
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  for (const name of listed.split('\n'))
    if (/^(?:[^/]+|(?:src|scripts|config|dashboard)\/.*)$/.test(name) && existsSync(join(root, name)))
      cpSync(join(root, name), join(tree, name));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  const env = { ...process.env, npm_config_offline: 'true', npm_config_loglevel: 'error' };
  const said = execFileSync('npm', ['pack', '--json', '--pack-destination', ground], {
    cwd: tree,
    env,
    encoding: 'utf8',
  });
  const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as [
    { filename: string; size: number; files: { path: string }[] },
  ];
  files = packed.files.map(({ path }) => path);
  bytes = packed.size;
  const own = join(modules(), 'sallyport');
  mkdirSync(own, { recursive: true });
  execFileSync('tar', ['-xzf', join(ground, packed.filename), '-C', own, '--strip-components=1']);
  const needed = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  for (const path of needed.trim().split('\n').slice(1)) {
    const to = join(ground, 'project', relative(root, path));
    if (!existsSync(to)) cpSync(path, to, { recursive: true, dereference: true });
  }
  mkdirSync(join(modules(), '.bin'));
  symlinkSync('../sallyport/dist/main.cjs', join(modules(), '.bin', 'sallyport'));
  mkdirSync(join(ground, 'home/work'), { recursive: true });
  for (const folder of ['home', 'home/work']) chownSync(join(ground, folder), uid, uid);
  execFileSync('chmod', ['-R', 'a+rX', join(ground, 'project')]);
});

afterAll(() => rmSync(ground, { recursive: true, force: true }));

function asStranger(words: readonly string[], cwd: string): Promise<ClientRun> {
  const [program, ...args] = [...asUser(uid), ...words] as [string, ...string[]];
  const path = `${join(modules(), '.bin')}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`;
  const env = { PATH: path, HOME: join(ground, 'home'), npm_config_offline: 'true', NO_UPDATE_NOTIFIER: '1' };
  return runClient(program, args, { cwd, env, timeoutMs: 60_000 });
}

test('it holds what runs, and no source map, test, cache or source', () => {
  for (const needed of [
    'dist/main.cjs',
    'dist/index.js',
    'dist/types/index.d.ts',
    'config/presets.yaml',
    'README.md',
    'LICENSE',
  ])
    expect(files).toContain(needed);
  expect(files.filter((path) => /\.map$|\.cache$|^(?:src|tests|scripts|node_modules|bench)\//.test(path))).toEqual([]);
  expect(bytes).toBeLessThan(4_000_000);
  expect(statSync(join(modules(), 'sallyport/dist/main.cjs')).mode & 0o111).not.toBe(0);
});

test('its command runs a sandbox, found on PATH or by npx', async () => {
  const work = join(ground, 'home/work');
  const run = await asStranger(['sallyport', 'run', '--', 'sh', '-c', 'echo inside; id -u'], work);
  expect([run.code, run.stdout], run.stderr).toEqual([0, `inside\n${uid}\n`]);
  const npx = await asStranger(['npx', '--no', 'sallyport', '--version'], join(ground, 'project'));
  expect([npx.code, npx.stdout], npx.stderr).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

test('its library is imported by its name', async () => {
  const code = "const it = await import('sallyport'); console.log(typeof it.startGateway, typeof it.runSandboxed);";
  const run = await asStranger([process.execPath, '--input-type=module', '-e', code], join(ground, 'project'));
  expect([run.code, run.stdout], run.stderr).toEqual([0, 'function function\n']);
});
