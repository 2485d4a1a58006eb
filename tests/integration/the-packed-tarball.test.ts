// What `npm pack` makes is what a user installs: packed from a copy of the source, installed into an empty project in the versions
// of the lock file, out of npm's cache, so that nothing leaves this machine. Its command, its sandbox and its library work.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asUser } from '../support/namespace.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
let ground: string;
let project: string;
let installed: string;
let tarball: string;
const uid = 54_321;

beforeAll(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-packed-'));
  project = join(ground, 'project');
  installed = join(project, 'node_modules', 'sallyport');
  mkdirSync(project);
  tarball = packSource();
  installTarball(tarball);
  mkdirSync(join(ground, 'home/work'), { recursive: true });
  for (const folder of ['home', 'home/work']) chownSync(join(ground, folder), uid, uid);
  execFileSync('chmod', ['-R', 'a+rX', ground]);
}, 240_000);
afterAll(() => rmSync(ground, { recursive: true, force: true }));

/** Returns the tarball. What is packed is built by `prepack`, as it is for a release. */
function packSource(): string {
  const source = join(ground, 'source');
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  for (const name of listed.split('\n'))
    if (!/^(?:tests|docs|bench)\//.test(name) && name !== '' && existsSync(join(root, name)))
      cpSync(join(root, name), join(source, name));
  symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'));
  // What an earlier build has left is not packed.
  mkdirSync(join(source, 'dist'));
  writeFileSync(join(source, 'dist', 'of-yesterday.js'), '');
  execFileSync('npm', ['pack', '--silent', `--pack-destination=${ground}`], { cwd: source, env: npmEnvironment() });
  return join(ground, `sallyport-${version}.tgz`);
}

/** As a lock file that names the tarball has it: npm asks nobody which versions there are. */
function installTarball(tarball: string): void {
  interface Locked {
    readonly dev?: boolean;
  }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    lockfileVersion: number;
    packages: Record<string, Locked>;
  };
  const dependencies = { sallyport: `file:${tarball}` };
  const itself = {
    ...lock.packages[''],
    resolved: `file:${tarball}`,
    integrity: `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`,
    devDependencies: undefined,
  };
  const others = Object.entries(lock.packages).filter(([name, { dev }]) => name !== '' && dev !== true);
  const packages = { '': { dependencies }, 'node_modules/sallyport': itself, ...Object.fromEntries(others) };
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: lock.lockfileVersion, requires: true, packages }),
  );
  cpSync(join(root, '.npmrc'), join(project, '.npmrc'));
  execFileSync('npm', ['ci', '--silent', '--offline', '--no-audit', '--no-fund'], {
    cwd: project,
    env: npmEnvironment(),
  });
}

function npmEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, npm_config_update_notifier: 'false' };
}

function inProject(program: string, args: readonly string[]): Promise<ClientRun> {
  return runClient(program, [...args], {
    cwd: project,
    env: { HOME: ground, SALLYPORT_HOME: join(ground, 'state'), npm_config_offline: 'true' },
    timeoutMs: 40_000,
  });
}

describe('the packed tarball, installed', () => {
  test('has the programs, the library and its types; no source map of megabytes, and nothing of this machine', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    for (const name of [
      'dist/main.cjs',
      'dist/sallyport.cjs',
      'dist/run.cjs',
      'dist/index.js',
      'dist/types/index.d.ts',
    ])
      expect(files).toContain(name);
    const sizeOf = (name: string): number => statSync(join(installed, name)).size;
    expect(files.filter((name) => name.endsWith('.map') && sizeOf(name) > 1024 ** 2)).toEqual([]);
    expect(files.filter((name) => /\.cache$|of-yesterday|^(?:src|tests|node_modules)\//.test(name))).toEqual([]);
    expect(statSync(tarball).size).toBeLessThan(4_000_000);
    // Its code is in it once for each way in.
    expect(files.reduce((sum, name) => sum + sizeOf(name), 0)).toBeLessThan(20 * 1024 ** 2);
  });

  test('its command says its version, also through npx', async () => {
    for (const [program, ...args] of [
      [join(project, 'node_modules/.bin/sallyport')],
      ['npx', '--no', '--', 'sallyport'],
    ] as const)
      expect(await inProject(program, [...args, '--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test('its command runs another in a sandbox', async () => {
    const { code, stdout, stderr } = await inProject(join(project, 'node_modules/.bin/sallyport'), [
      ...['run', '--', 'sh', '-c', 'echo "in $SALLYPORT_SANDBOX"'],
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^in sbx_[0-9a-f]{16}\n$/);
  });

  test('an ordinary user finds it on PATH', async () => {
    const [program = '', ...args] = [...asUser(uid), 'sallyport', 'run', '--', 'id', '-u'];
    const folders = [join(project, 'node_modules/.bin'), dirname(process.execPath), '/usr/bin', '/bin', '/usr/sbin'];
    const { code, stdout, stderr } = await runClient(program, args, {
      cwd: join(ground, 'home/work'),
      env: { PATH: folders.join(':'), HOME: join(ground, 'home') },
      timeoutMs: 60_000,
    });
    expect([code, stdout], stderr).toEqual([0, `${uid}\n`]);
  });

  test('its library starts a gateway', async () => {
    const script = [
      "import { startGateway } from 'sallyport';",
      "const gateway = await startGateway({ config: { version: 1, allow: [{ host: 'api.example.com' }] } });",
      'await gateway.stop();',
      "console.log('started, and stopped');",
    ];
    writeFileSync(join(project, 'library.js'), script.join('\n'));
    expect(await inProject(process.execPath, ['library.js'])).toMatchObject({
      code: 0,
      stdout: 'started, and stopped\n',
    });
  });
});
