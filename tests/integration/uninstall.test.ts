import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asUser } from '../support/namespace.ts';
import { type PtyStep, runAtTerminal } from '../support/pty.ts';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';
import { listTree, makeUninstallGround, type UninstallGround } from '../support/uninstall-ground.ts';

const user = 54321;
let command: BuiltCommand;
let ground: UninstallGround;
let main: string;
let state: string;
let environment: Record<string, string>;

beforeAll(() => {
  command = buildCommand({ allow: [{ host: 'api.example.com' }] });
  ground = makeUninstallGround();
  chmodSync(command.home, 0o755);
  main = join(command.home, 'package', 'dist', 'main.cjs');
  state = join(command.home, 'state');
  // Only programs of the ground are asked about rules and containers.
  // One volume is ours there, and every call is written down.
  const calls = join(ground.folder, 'calls');
  const list = `case "$*" in 'volume ls'*) echo 'our-volume our-volume' ;; esac`;
  ground.put('programs/docker', `#!/bin/sh\necho "$*" >>${calls}\n${list}\n`);
  environment = { PATH: ground.env.PATH!, HOME: command.home, SALLYPORT_HOME: state, NO_COLOR: '1' };
});

afterAll(() => {
  command.remove();
  ground.remove();
});

const atTerminal = (steps: readonly PtyStep[]) =>
  runAtTerminal([process.execPath, main, 'uninstall'], steps, { folder: command.home, environment });

/** Once for this host, once for Docker. */
const answering = (word: string): PtyStep[] => [
  { wait: 'Remove all this? [y/N]' },
  { type: `${word}\n` },
  { wait: 'Remove this from Docker too? [y/N]' },
  { type: `${word}\n` },
];
const dockerCalls = (): string => readFileSync(join(ground.folder, 'calls'), 'utf8');

describe('the state of a gateway that really ran', () => {
  test('is not touched while it runs: its process is named', async () => {
    const gateway = await command.up();
    try {
      const before = listTree(state);
      const run = await runClient(process.execPath, [main, 'uninstall', '--yes'], { env: environment });
      expect(run.code).toBe(1);
      expect(run.stderr).toContain(`(process ${gateway.child.pid})`);
      expect(run.stderr).toContain(`kill ${gateway.child.pid}`);
      expect(listTree(state)).toEqual(before);
    } finally {
      gateway.kill('SIGTERM');
      await gateway.ended;
    }
  });

  test('at a terminal everything is listed and asked about: no means no', async () => {
    const before = listTree(state);
    expect(before).toContain('ca/ca.key');
    const { screen, code, missed } = await atTerminal(answering('n'));
    expect([missed, code]).toEqual([null, 1]);
    expect(screen).toContain(`${state}/ca`);
    expect(screen).toContain('nothing was removed');
    expect(dockerCalls()).not.toMatch(/\brm\b/);
    expect(listTree(state)).toEqual(before);
  });

  test('yes means all of it, and nothing beside it', async () => {
    const beside = listTree(command.home).filter((path) => !path.startsWith('state/'));
    const { screen, code, missed } = await atTerminal(answering('y'));
    expect([missed, code]).toEqual([null, 0]);
    expect(screen).toContain(`removed  ${state}`);
    expect(dockerCalls()).toContain('volume rm -- our-volume');
    expect(existsSync(state)).toBe(false);
    expect(listTree(command.home)).toEqual(beside);
  });
});

describe('an ordinary user', () => {
  test('is told what they may not remove; the rest is gone, and the exit code says so', async () => {
    const { userHome, home } = ground;
    for (const path of ['', ...readdirSync(userHome, { recursive: true, encoding: 'utf8' })])
      chownSync(join(userHome, path), user, user);
    // As after one start with sudo: a folder of root with something in it.
    mkdirSync(join(home, 'spool', 'of-root'), { mode: 0o700 });
    writeFileSync(join(home, 'spool', 'of-root', 'push'), '');
    // What a sandbox may leave: deeper than there are descriptors, and folders that nobody may write to, as Go makes them.
    const deep = join(home, 'home', 'd/'.repeat(300));
    const closed = join(home, 'home', 'closed', 'below');
    const owned = ['sh', '-ec', 'mkdir -p "$1" "$2"; touch "$2/file"; chmod -R a-w "$2/.."', 'sh', deep, closed];
    expect((await runClient(asUser(user)[0]!, [...asUser(user).slice(1), ...owned])).code).toBe(0);
    const [program, ...words] = [
      ...[...asUser(user), 'prlimit', '--nofile=128', process.execPath, main, 'uninstall', '--yes'],
    ];
    const env = { ...ground.env, SALLYPORT_HOME: home };
    const { code, stdout } = await runClient(program!, words, { env, cwd: userHome });
    expect(code).toBe(1);
    expect(stdout).toMatch(/LEFT +\S+\/spool: \S+\/spool\/of-root: it belongs to another user/);
    expect(stdout).toContain(`rm -r -- '${home}/spool'`);
    expect(stdout).toContain('only root can look at them');
    expect(readdirSync(home)).toEqual(['spool']);
    expect(existsSync(ground.config)).toBe(false);
  });
});
