// The first command of the README on a machine that has Node, git and nothing else: no bubblewrap, no iproute2, no compiler, no
// Perl or Python; and on one that allows no sandbox at all. In mount namespaces of the test, where those programs are covered.
// Packages come out of npm's cache, so nothing leaves this machine.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isContainer } from '../../src/sandbox/namespace/why-no-namespaces.ts';
import { asUser } from '../support/namespace.ts';
import { type PtyStep, runAtTerminal } from '../support/pty.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const uid = 54_321;
const covered = ['bwrap', 'ip', 'cc', 'gcc', 'c++', 'g++', 'make', 'perl', 'python3', 'sudo', 'apt-get', 'dnf', 'apk'];
let ground: string;
let cache: string;

type Who = 'root' | 'user';
interface Order {
  readonly who: Who;
  /** Clone to run in. */
  readonly clone?: string;
  readonly words: readonly string[];
  /** Programs that this machine does have, as shell scripts. They come first. */
  readonly has?: Readonly<Record<string, string>>;
  /** In front of the command, inside. */
  readonly through?: string;
  /** Another for each case: what is remembered stays there. */
  readonly state?: string;
}

beforeAll(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-first-'));
  chmodSync(ground, 0o755);
  cache = execFileSync('npm', ['config', 'get', 'cache'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 24 }).split('\n');
  for (const clone of ['clone', 'untouched'])
    for (const name of files)
      if (
        /^(?:sallyport|package.*|\.npmrc|(?:src|scripts|config|dashboard)\/.*)$/.test(name) &&
        existsSync(join(root, name))
      )
        cpSync(join(root, name), join(ground, clone, name));
  execFileSync('cp', [
    execFileSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim(),
    join(ground, 'real-bwrap'),
  ]);
  for (const who of ['root', 'user']) {
    mkdirSync(join(ground, who, 'project'), { recursive: true });
    if (who === 'user') for (const folder of [who, `${who}/project`]) chownSync(join(ground, folder), uid, uid);
  }
});
afterAll(() => rmSync(ground, { recursive: true, force: true }));

/** A shell that covers the programs and becomes the command, and what it is given. */
function bare({ who, clone = 'clone', words, has = {}, through = '', state = 'state' }: Order): {
  words: readonly string[];
  folder: string;
  environment: Record<string, string>;
} {
  const script = [
    'set -e',
    // By their own names: a link may lead to another that is needed.
    `for each in ${covered.join(' ')}; do for folder in /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do`,
    '  if [ -e "$folder/$each" ]; then mount --bind /dev/null "$(readlink -f "$folder/$each")"; fi',
    'done; done',
    'mount -t tmpfs -o mode=777 tmpfs /usr/local/sbin',
    ...Object.entries(has).flatMap(([name, text]) => [
      `printf '%s\\n' '#!/bin/sh' '${text}' > /usr/local/sbin/${name}`,
      `chmod 755 /usr/local/sbin/${name}`,
    ]),
    `cd ${join(ground, who, 'project')}`,
    `exec ${who === 'user' ? asUser(uid).join(' ') : ''} ${through} "$@"`,
  ].join('\n');
  const home = join(ground, who);
  return {
    words: ['unshare', '--mount', 'sh', '-c', script, 'sh', join(ground, clone, 'sallyport'), ...words],
    folder: home,
    environment: {
      PATH: `/usr/local/sbin:${dirname(process.execPath)}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      HOME: home,
      SALLYPORT_HOME: join(home, state),
      npm_config_cache: cache,
      npm_config_offline: 'true',
    },
  };
}

function run(order: Order): Promise<ClientRun> {
  const { words, folder, environment } = bare(order);
  const [program, ...args] = words as [string, ...string[]];
  return runClient(program, args, { cwd: folder, env: environment, timeoutMs: 170_000 });
}

const look = ['run', '--', 'sh', '-c', 'id -u; ls /proc/sys/net/ipv4/conf; echo in the project > made'];
const lacks =
  /sallyport: bubblewrap is not installed, so this sandbox is made without it: the same walls \(network, files,/;

describe('./sallyport run in a fresh clone, with Node and git alone', () => {
  test('installs, builds and runs, as root; says once what it lacks, and how to have it', {
    timeout: 180_000,
  }, async () => {
    const first = await run({ who: 'root', words: look });
    expect(first.stdout).toBe('1000\nall\ndefault\nlo\n');
    expect(first.stderr).toMatch(lacks);
    expect(first.stderr.trim().split('\n')).toHaveLength(1);
    expect(first.code).toBe(0);
    expect(readFileSync(join(ground, 'root/project/made'), 'utf8')).toBe('in the project\n');
    for (const tool of ['playwright-core', 'vitest', '@biomejs', 'typescript', 'knip'])
      expect(existsSync(join(ground, 'clone/node_modules', tool)), tool).toBe(false);
  });

  test('and then as an ordinary user who may not write to the clone', async () => {
    const own = await run({ who: 'user', words: look });
    expect(own.stdout).toBe(`${uid}\nall\ndefault\nlo\n`);
    expect(own.stderr).toMatch(lacks);
    expect(own.code).toBe(0);
  });

  test.each([
    ['package.json', 'names another version than the lock file', /"koffi": "[\d.]+"/, '"koffi": "2.0.0"'],
    [
      'package-lock.json',
      'has another digest than what comes',
      /("node_modules\/koffi": \{[^}]*"integrity": "sha512-)[^"]{8}/,
      '$1AAAAAAAA',
    ],
  ] as const)('a %s that %s is a failure in words, and nothing is installed', async (name, _how, what, other) => {
    const file = join(ground, 'untouched', name);
    const whole = readFileSync(file, 'utf8');
    const changed = whole.replace(what, other);
    expect(changed).not.toBe(whole);
    writeFileSync(file, changed);
    try {
      const { code, stderr } = await run({ who: 'root', clone: 'untouched', words: look });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /sallyport: the dependencies could not be installed exactly as package-lock\.json has them/,
      );
      expect(existsSync(join(ground, 'untouched/node_modules'))).toBe(false);
    } finally {
      writeFileSync(file, whole);
    }
  });
});

describe('bubblewrap is installed by the package manager of the machine', () => {
  const installs = `echo "$@" >> /usr/local/sbin/asked; cp ${'GROUND'}/real-bwrap /usr/local/sbin/bwrap`;
  const sudo = 'while [ "$1" = -n ] || [ "$1" = -- ]; do shift; done; exec "$@"';
  const tell = ['run', '--', 'sh', '-c', 'cat /usr/local/sbin/asked; ls /usr/local/sbin'];

  test.each([
    ['root', {}],
    ['user', { sudo }],
  ] as const)('by %s without a question, after it is said', async (who, more) => {
    const has = { ...more, 'apt-get': installs.replace('GROUND', ground) };
    const { stdout, stderr, code } = await run({ who, words: tell, has, state: `installs-${who}` });
    const command = `${who === 'root' ? '' : 'sudo -n -- '}apt-get install -y --no-install-recommends bubblewrap`;
    expect(stderr).toBe(`sallyport: bubblewrap is not installed: installing it (${command})\n`);
    expect(stdout).toContain('install -y --no-install-recommends bubblewrap\n');
    expect(code).toBe(0);
  });

  test('where that fails it goes on without, and does not try again', async () => {
    const order: Order = { who: 'root', words: look, has: { 'apt-get': 'exit 100' }, state: 'fails' };
    const first = await run(order);
    expect(first.stderr).toMatch(/^sallyport: bubblewrap is not installed: installing it/);
    expect(first.stderr).toMatch(/could not be installed, and will not be tried again; going on without it/);
    expect([first.code, first.stdout]).toEqual([0, '1000\nall\ndefault\nlo\n']);
    const second = await run(order);
    expect(second.stderr).not.toMatch(/installing it/);
    expect(second.stderr).toMatch(lacks);
  });

  test('with a password only when a person says yes, who is asked once', async () => {
    const has = { sudo: '[ "$1" != -n ] || exit 1; shift; exec "$@"', 'apt-get': installs.replace('GROUND', ground) };
    const at = async (state: string, steps: readonly PtyStep[]) => {
      const { words, folder, environment } = bare({
        who: 'user',
        words: ['run', '--', 'echo', 'ran', 'inside'],
        has,
        state,
      });
      return await runAtTerminal(words, steps, { folder, environment });
    };
    const question =
      'bubblewrap is not installed. Install it (sudo -- apt-get install -y --no-install-recommends bubblewrap)? [Y/n]';
    const no = await at('asked', [{ wait: question }, { type: 'n\n' }, { wait: 'ran inside' }]);
    expect([no.missed, no.code]).toEqual([null, 0]);
    expect(no.screen).toMatch(/going on without bubblewrap; you will not be asked again/);
    expect(no.screen).toMatch(/\(namespaces\)/);
    const again = await at('asked', [{ wait: 'ran inside' }]);
    expect(again.screen).not.toContain('[Y/n]');
    const yes = await at('agreed', [
      { wait: question },
      { type: '\n' },
      { wait: '(bubblewrap)' },
      { wait: 'ran inside' },
    ]);
    expect([yes.missed, yes.code]).toEqual([null, 0]);
    // Nobody can answer in a pipe: it goes on at once.
    const piped = await run({ who: 'user', words: look, has, state: 'piped' });
    expect(piped.stderr).toMatch(lacks);
    expect(piped.stderr).not.toContain('[Y/n]');
  });
});

describe('where user namespaces are forbidden', () => {
  const forbidden: Readonly<Record<Who, string>> = {
    root: `unshare --user --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"' sh`,
    user: `unshare --user --map-user=${uid} --map-group=${uid} --keep-caps sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"' sh`,
  };
  // The tests may run in a container themselves.
  const where = isContainer() ? 'on the host of this container: ' : '';
  const said = (sudo: string): string =>
    [
      'sallyport: this machine does not let you make a sandbox: user namespaces are off (user.max_user_namespaces is 0)',
      `${where}${sudo}sysctl -w user.max_user_namespaces=15000 (to keep it: echo user.max_user_namespaces=15000 | ${sudo}tee /etc/sysctl.d/60-sallyport.conf)`,
      '',
    ].join('\n');

  test.each([
    ['root', ''],
    ['user', 'sudo '],
  ] as const)('it is said to %s with the one command, before anything is installed', async (who, sudo) => {
    const { code, stdout, stderr } = await run({ who, clone: 'untouched', words: look, through: forbidden[who] });
    expect([code, stdout, stderr]).toEqual([125, '', said(sudo)]);
    expect(existsSync(join(ground, 'untouched/node_modules'))).toBe(false);
  });

  test('a clone that is ready says the same, and so does doctor', async () => {
    const order = { who: 'root', through: forbidden.root, state: 'forbidden' } as const;
    const { code, stderr } = await run({ ...order, words: look });
    expect([code, stderr]).toEqual([125, said('')]);
    const doctor = await run({ ...order, words: ['doctor', '--outside', '--json'] });
    const { findings } = JSON.parse(doctor.stdout) as { findings: { name: string; says: string; fix: string }[] };
    const [message, hint] = said('').split('\n');
    expect(findings.find(({ name }) => name === 'namespaces')).toMatchObject({
      state: 'fail',
      says: message!.slice('sallyport: '.length),
      fix: hint,
    });
  });
});
