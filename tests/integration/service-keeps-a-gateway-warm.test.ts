// `sallyport service`: its units are what systemd takes, and what they say starts a gateway with the first `run` that comes, which
// joins it, as the next does. systemd's own part is played by its systemd-socket-activate, which hands over the socket as
// the manager does, since a test machine has no session; `systemctl` is a stand-in that writes down what it is asked.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { asUser } from '../support/namespace.ts';
import { makeRunGround, type RunGround, type RunUser, runUsers } from '../support/run-ground.ts';

let ground: RunGround;
const uids: Readonly<Record<RunUser, number>> = { root: 0, 'an ordinary user': 54_321 };

beforeAll(() => {
  ground = makeRunGround({ allow: [{ host: 'api.example.com' }] });
  for (const user of runUsers) {
    const tools = toolsOf(user);
    mkdirSync(tools);
    const asked = join(ground.projectOf(user), 'asked');
    writeFileSync(join(tools, 'systemctl'), `#!/bin/sh\necho "$@" >> ${asked}\n`);
    chmodSync(join(tools, 'systemctl'), 0o755);
  }
});
afterAll(() => ground.remove());

const toolsOf = (user: RunUser): string => join(ground.homeOf(user), 'tools');
const unitsOf = (user: RunUser): string => join(ground.homeOf(user), '.config/systemd/user');
const configOf = (user: RunUser): string => join(ground.homeOf(user), '../sallyport.yaml');
const askedOf = (user: RunUser): string[] =>
  readFileSync(join(ground.projectOf(user), 'asked'), 'utf8')
    .trimEnd()
    .split('\n');
const withTools = (user: RunUser) => ({ env: { PATH: `${toolsOf(user)}:${process.env.PATH}` } });

/** What stands behind a key of a unit, each as systemd reads it: words in quotes, no specifier and no variable left. */
function settingsIn(unit: string, key: string): string[][] {
  const lines = unit.split('\n').filter((line) => line.startsWith(`${key}=`));
  return lines.map((line) =>
    [...line.slice(key.length + 1).matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare]) =>
      (quoted ?? bare!).replace(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
    ),
  );
}

/** Becomes the gateway, in the very same process, when somebody comes to the socket. */
function listenAsSystemdDoes(user: RunUser): ChildProcess {
  const [socket, service] = ['sallyport.socket', 'sallyport.service'].map((name) =>
    readFileSync(join(unitsOf(user), name), 'utf8'),
  ) as [string, string];
  const environment = settingsIn(service, 'Environment').flat();
  const [program, ...words] = [
    ...(user === 'root' ? [] : asUser(uids[user])),
    'systemd-socket-activate',
    ...['--listen', settingsIn(socket, 'ListenStream')[0]![0]!],
    ...environment.flatMap((one) => ['--setenv', one]),
    ...settingsIn(service, 'ExecStart')[0]!,
  ] as [string, ...string[]];
  return spawn(program, words, {
    cwd: settingsIn(service, 'WorkingDirectory')[0]![0]!,
    env: { PATH: process.env.PATH, HOME: ground.homeOf(user) },
    stdio: 'ignore',
  });
}

describe.each(runUsers)('sallyport service, for %s', (user) => {
  test('installs units that systemd takes, and asks it to start them', async () => {
    const { code, stdout, stderr } = await ground.sallyport(
      user,
      ['service', 'install', '--config', configOf(user)],
      withTools(user),
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining('`sallyport run` joins it')]);
    expect(stdout).toContain('sallyport.{socket,service}');
    expect(askedOf(user)).toEqual([
      '--user show-environment',
      '--user daemon-reload',
      '--user enable --now sallyport.socket sallyport.service',
    ]);
    const units = readdirSync(unitsOf(user)).map((name) => join(unitsOf(user), name));
    const verified = spawnSync('systemd-analyze', ['--user', 'verify', ...units], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: ground.homeOf(user), XDG_RUNTIME_DIR: ground.homeOf(user) },
    });
    const aboutOurs = verified.stderr.split('\n').filter((line) => line.includes('sallyport'));
    expect([verified.status, aboutOurs]).toEqual([0, []]);
  });

  test('the first run that comes starts it, and every run joins it', async () => {
    const listening = listenAsSystemdDoes(user);
    const ended = new Promise<number | null>((resolve) => listening.once('exit', resolve));
    const state = ground.stateOf(user);
    const commandLine = (): string => readFileSync(`/proc/${listening.pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
    try {
      await eventually(() => existsSync(join(state, 'run/admin.sock')), 'systemd listens');
      expect(commandLine()).toMatch(/systemd-socket-activate/);
      for (const word of ['first', 'second']) {
        const run = await ground.sallyport(user, ['run', '--', 'sh', '-c', `echo ${word}; cat /proc/self/uid_map`]);
        expect([run.code, run.stdout.split('\n')[0], run.stderr]).toEqual([0, word, '']);
        expect(commandLine()).toMatch(/ background --service --config /);
      }
      // One of its own would be its neighbour.
      expect(existsSync(join(state, 'gateways'))).toBe(false);
      // A person is told whose it is.
      const told = await ground.atTerminal(user, ['run', '--', 'echo', 'ran', 'inside'], [{ wait: 'ran inside' }]);
      expect(told.screen).toContain(`it uses the gateway of the service (process ${listening.pid}), with its keys`);
      // Nobody else may start such a process again while it runs.
      const again = await ground.sallyport(user, ['service', 'install'], withTools(user));
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('a gateway is running')]);
    } finally {
      execFileSync('kill', ['-TERM', String(listening.pid)]);
    }
    expect(await ended).toBe(0);
    // The manager listens on, and starts it again with the next one who comes.
    expect(lstatSync(join(state, 'run/admin.sock')).isSocket()).toBe(true);
  });

  test('is taken away again', async () => {
    const { code, stdout } = await ground.sallyport(user, ['service', 'remove'], withTools(user));
    expect([code, stdout.match(/Removed/g)]).toEqual([0, ['Removed', 'Removed']]);
    expect(readdirSync(unitsOf(user))).toEqual([]);
    expect(askedOf(user).slice(3)).toEqual(
      expect.arrayContaining([
        '--user disable --now sallyport.socket',
        '--user disable --now sallyport.service',
        '--user daemon-reload',
      ]),
    );
  });
});
