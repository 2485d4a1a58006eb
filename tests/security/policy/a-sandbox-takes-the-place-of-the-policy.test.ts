// Whoever writes the `sallyport.yaml` of a project writes the policy of the next run there. A sandbox can do that neither where
// there is one nor where there is none yet, whatever started it and whichever gateway it belongs to.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { isStandInConfig } from '../../../src/policy/load/config-places.ts';
import { eventually } from '../../support/eventually.ts';
import { makeRunGround, type RunGround, type RunningCommand, type RunUser } from '../../support/run-ground.ts';

let ground: RunGround;
let up: RunningCommand;
const users: readonly RunUser[] = ['root', 'an ordinary user'];
const strict = 'version: 1\nallow: []\n';
/** As users whose only configuration lies in the project. */
const env = { SALLYPORT_CONFIG: '' };

beforeAll(async () => {
  ground = makeRunGround({ listen: { proxy: '127.0.0.1:0' }, allow: [] });
  for (const user of users) {
    execFileSync('git', ['init', '-q', ground.projectOf(user)]);
    if (user !== 'root') execFileSync('chown', ['-R', '54321:54321', ground.projectOf(user)]);
  }
  // Its own configuration lies elsewhere.
  up = ground.start('root', ['up']);
  await eventually(
    () => up.output().includes('Sallyport is up'),
    () => `the gateway is up: ${up.output()}`,
  );
});
afterAll(async () => {
  up.kill('SIGTERM');
  await up.ended;
  ground.remove();
});
afterEach(() => {
  for (const user of users) rmSync(placeOf(user), { force: true });
});

const placeOf = (user: RunUser): string => join(ground.projectOf(user), 'sallyport.yaml');
const run = (user: RunUser, options: readonly string[], script: string) =>
  ground.sallyport(user, ['run', ...options, '--', 'sh', '-c', script], { env });

async function expectFollowed(user: RunUser): Promise<void> {
  const { stdout } = await ground.sallyport(user, ['config', 'approve'], { env });
  expect(stdout).toContain('needs no approval: no sandbox could have written it');
}

const attack = `
exec 2>&1
try() { if "$@" 2>/dev/null; then echo "DONE $*"; fi; }
write() { echo evil > sallyport.yaml; }
append() { echo evil >> sallyport.yaml; }
replace() { echo evil > evil.yaml; mv -f evil.yaml sallyport.yaml; }
link() { echo evil > evil.yaml; ln -sfT evil.yaml sallyport.yaml; }
hide() { mv sallyport.yaml hidden.yaml; }
name() { ln sallyport.yaml other.yaml && echo evil > other.yaml; }
folder() { rm -f sallyport.yaml && mkdir sallyport.yaml; }
around() { mv "$PWD" "$PWD-old" && mkdir "$PWD" && echo evil > "$PWD/sallyport.yaml"; }
for attempt in write append replace link hide name folder around; do try $attempt; done
try rm -f sallyport.yaml; try umount sallyport.yaml; try chmod 777 sallyport.yaml
rm -f evil.yaml; echo beside > beside.txt && rm beside.txt && echo WORKS`;

const ways: readonly (readonly [string, RunUser, readonly string[]])[] = [
  ['bubblewrap', 'root', []],
  ['bubblewrap of an ordinary user', 'an ordinary user', []],
  ['plain unshare', 'an ordinary user', ['--launcher', 'unshare']],
  ['a gateway that runs', 'root', ['--gateway']],
];

describe.each(ways)('a sandbox of %s', (_way, user, options) => {
  test('leaves the policy as it is, and the next run follows what the user wrote', async () => {
    writeFileSync(placeOf(user), 'version: 1\n');
    const { stdout } = await run(user, options, attack);
    expect(stdout).toBe('WORKS\n');
    expect(readFileSync(placeOf(user), 'utf8')).toBe('version: 1\n');
    writeFileSync(placeOf(user), strict);
    await expectFollowed(user);
  });

  test('makes none where there is none, and one that the user writes afterwards is followed', async () => {
    const { stdout } = await run(user, options, `${attack}; git status --porcelain; cat sallyport.yaml`);
    expect(stdout).toMatch(/^WORKS\n# No policy is here yet\./);
    expect(existsSync(placeOf(user))).toBe(false);
    writeFileSync(placeOf(user), strict);
    await expectFollowed(user);
  });
});

describe('a policy that the user writes while a sandbox keeps its place', () => {
  test('is out of the sandbox’s hands, stays, and is followed', async () => {
    const begun = join(ground.projectOf('root'), 'begun');
    const go = join(ground.projectOf('root'), 'go');
    const script = `touch begun; until [ -e go ]; do sleep 0.02; done; ${attack}; rm begun go`;
    const running = ground.start('root', ['run', '--', 'sh', '-c', script], { env });
    await eventually(
      () => existsSync(begun),
      () => `the sandbox begins: ${running.output()}`,
    );
    expect(isStandInConfig(placeOf('root'))).toBe(true);
    // Nothing that looks for a policy takes it for one.
    expect((await ground.sallyport('root', ['config', 'check'], { env })).stdout).toContain('embedded default');
    writeFileSync(placeOf('root'), strict);
    writeFileSync(go, '');
    expect(await running.ended).toBe(0);
    expect(running.output()).toContain('WORKS');
    expect(running.output()).not.toContain('DONE');
    expect(readFileSync(placeOf('root'), 'utf8')).toBe(strict);
    const next = await run('root', [], 'curl -sS https://api.github.com/');
    expect([next.code, next.stdout]).toEqual([0, expect.stringContaining('"code":"domain.not-allowed"')]);
  });

  test('what a killed run left is no policy, and goes with the next', async () => {
    const script = 'touch begun; sleep 1000';
    const running = ground.start('root', ['run', '--', 'sh', '-c', script], { env });
    const begun = join(ground.projectOf('root'), 'begun');
    await eventually(
      () => existsSync(begun),
      () => `the sandbox begins: ${running.output()}`,
    );
    running.kill('SIGKILL');
    await running.ended;
    expect(isStandInConfig(placeOf('root'))).toBe(true);
    expect(await run('root', [], 'rm begun; echo fine')).toMatchObject({ code: 0, stdout: 'fine\n' });
    expect(existsSync(placeOf('root'))).toBe(false);
  });
});

test('a policy is let in to be read, not to be written', async () => {
  const folder = join(ground.homeOf('root'), 'elsewhere');
  execFileSync('mkdir', ['-p', folder]);
  writeFileSync(join(folder, 'sallyport.yaml'), strict);
  const { code, stderr } = await run('root', ['--mount', join(folder, 'sallyport.yaml')], 'true');
  expect([code, stderr]).toEqual([125, expect.stringContaining('a sandbox that can write a policy writes its own')]);
  const whole = await run('root', ['--mount', folder], `cd ${folder}; ${attack}`);
  expect(whole.stdout).toBe('WORKS\n');
});
