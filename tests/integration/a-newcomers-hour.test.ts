// The first hour of somebody who has never seen it, at real terminals: a policy is written, something is refused, two sandboxes run
// side by side under one watch, the policy is edited, a key file is wrong, a gateway is killed. Asserted are the words that tell
// a person what has happened and what to do.
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { quietGit } from '../support/git-folder.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import type { Terminal } from '../support/open-terminal.ts';
import { makeRunGround, type RunGround, type RunUser, readableByAll, runUsers } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const key = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';
let ground: RunGround;
let web: FakeUpstream;
let github: GitUpstream;
/** What makes the far side of this test out of the internet: nothing a newcomer writes. */
let internet: string;

beforeAll(async () => {
  const ca = makeTestCa();
  github = await startGitUpstream(ca, { 'github.com': `x-access-token:${token}` });
  web = await startFakeUpstream(ca, ['example.com'], (_request, response) => response.end('hello from outside\n'));
  ground = makeRunGround({});
  internet = [
    'upstream:',
    `  ca: ${readableByAll(ca.path)}`,
    `  resolve: { github.com: "${github.address}", example.com: "${web.address}" }`,
    '',
  ].join('\n');
});

afterAll(async () => {
  ground.remove();
  await Promise.all([github.close(), web.close()]);
});

/** Where the user is, with a repository of their own in it. */
async function makeProject(user: RunUser): Promise<void> {
  const folder = ground.projectOf(user);
  const bare = await github.create(`acme/${user === 'root' ? 'api' : 'app'}`);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd: folder, env: { ...process.env, ...quietGit } });
  git('init', '-q', '-b', 'main');
  git('remote', 'add', 'origin', `https://github.com/${nameOf(user)}.git`);
  writeFileSync(join(folder, 'README'), 'mine\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  git('push', '-q', bare.folder, 'main');
  writeFileSync(join(ground.homeOf(user), '.gitconfig'), '[user]\nname = A U Thor\nemail = author@example.com\n');
  chownLike(folder, ground.homeOf(user));
}

const nameOf = (user: RunUser): string => (user === 'root' ? 'acme/api' : 'acme/app');
const chownLike = (path: string, like: string): unknown => execFileSync('chown', ['-R', `--reference=${like}`, path]);

describe.each(runUsers)('the first hour, as %s', (user) => {
  /** No configuration but what lies in the project; the banner and what a sandbox prints are not cut at a narrow edge. */
  const env = { SALLYPORT_CONFIG: '', NO_COLOR: '1', GH_TOKEN: '', ANTHROPIC_API_KEY: '' };
  const open = (args: readonly string[], more = {}): Terminal =>
    ground.openTerminal(user, args, { env: { ...env, ...more } });
  const config = (): string => join(ground.projectOf(user), 'sallyport.yaml');
  const prompt = 'inside> ';
  const up = ['up', '--listen-proxy', '127.0.0.1:0'];
  const shell = (...options: string[]): string[] => ['run', `--env=PS1=${prompt}`, ...options, '--', 'bash', '--norc'];

  /** Types a command, and returns what is on the screen until it asks for the next. */
  async function say(terminal: Terminal, command: string): Promise<string> {
    terminal.type(`${command}\n`);
    await terminal.wait(`${command}\r\n`);
    return terminal.wait(prompt);
  }

  async function leave(terminal: Terminal): Promise<string> {
    const before = terminal.screen().length;
    terminal.type('exit\n');
    expect(await terminal.ended, terminal.screen()).toBe(0);
    return terminal.screen().slice(before);
  }

  /** A command that needs no hand. */
  async function at(args: readonly string[]): Promise<{ screen: string; code: number }> {
    const terminal = open(args);
    const code = await terminal.ended;
    return { screen: terminal.screen(), code };
  }

  async function processIn(terminal: Terminal, words: RegExp): Promise<number> {
    return Number(words.exec(await terminal.wait(words))![1]);
  }

  const idOf = (banner: string): string => /Sallyport (sbx_[0-9a-f]+) \(/.exec(banner)![1]!;

  test('is told what happens, and what to do, at every step', { timeout: 240_000 }, async () => {
    await makeProject(user);

    // A policy is written, and the next command is named.
    const init = open(['init']);
    await init.wait(`origin: github.com/${nameOf(user)}`);
    await init.wait('instead of refusing them at once? [y/N]');
    init.type('\r');
    await init.wait(`\`run --repo ${nameOf(user)}\` gives a sandbox this repository`);
    await init.wait(`written ${config()}`);
    await init.wait(`sallyport run --repo ${nameOf(user)} -- bash`);
    expect(await init.ended).toBe(0);
    // Ports that no other test has.
    const written = readFileSync(config(), 'utf8').replace('127.0.0.1:8642', '127.0.0.1:0');
    writeFileSync(config(), `${written}${internet}`);

    // What is not allowed is refused in words, by the programs that a person uses.
    const first = open(shell('--repo', nameOf(user)), { GH_TOKEN: token });
    const banner = await first.wait(prompt);
    expect(banner).toContain('github (environment GH_TOKEN); the sandbox has placeholders only');
    expect(banner).toContain(`repos   ${nameOf(user)}, pushes to sandbox/*`);
    expect(banner).toContain(`policy  ${config()}`);
    const refused = await say(first, 'curl https://example.com');
    expect(refused).toContain(`example.com is not on the allowlist of ${idOf(banner)}`);
    expect(refused).toContain('To allow it, add to sallyport.yaml under allow:\\n  - host: example.com');
    await say(first, 'echo more >> README; git commit -qam more');
    const pushed = await say(first, 'git push origin main');
    expect(pushed).toContain('remote: Sallyport refused this push. Nothing of it was sent to github.com.');
    expect(pushed).toContain('remote: - main is a protected branch (rule: policy.protected_branches[0])');
    expect(pushed).toMatch(/! \[remote rejected\].* main -> main.* \(protected branch\)/);
    expect(await say(first, 'git push origin main:sandbox/mine')).toContain('[new branch]');

    // Another beside it, and one watch sees both.
    const second = open(shell(), { GH_TOKEN: token });
    const banner2 = await second.wait(prompt);
    expect(banner2).toMatch(/note {4}it uses the gateway of another run \(process \d+\), with its keys/);
    const watch = open(['watch']);
    await watch.wait('2 sandboxes');
    await say(first, 'curl https://one.example.com');
    await watch.wait(new RegExp(`${idOf(banner)} refused +403 GET one\\.example\\.com/`));
    await say(second, 'curl https://two.example.com');
    await watch.wait(new RegExp(`${idOf(banner2)} refused +403 GET two\\.example\\.com/`));
    watch.type('q');
    expect(await watch.ended).toBe(0);

    // The policy is edited by hand, by an editor that puts another file in its place: a sandbox could have done so.
    const before = readFileSync(config(), 'utf8');
    const added = '  - { host: example.com, methods: [GET] }';
    writeFileSync(`${config()}.new`, before.replace('allow:\n', `allow:\n${added}\n`));
    chownLike(`${config()}.new`, config());
    renameSync(`${config()}.new`, config());
    const checked = await at(['config', 'check']);
    expect(checked.screen).toContain('not followed yet');
    expect(checked.screen).toContain('its changes are not used until the sandbox has ended');
    expect(await leave(second)).toContain(`sallyport logs --refused --sandbox ${idOf(banner2)}`);
    const end = await leave(first);
    expect(end).toContain(`refused GET example.com  example.com is not on the allowlist of ${idOf(banner)}`);
    expect(end).toContain(`${config()} was replaced while sandbox`);
    expect(end).not.toContain('git checkout');
    const third = open(shell());
    await third.wait('What changed since it was last followed:');
    await third.wait(`+ ${added}`);
    await third.wait('Is it yours? y follows it, any other key stops here.');
    third.type('y');
    await third.wait(prompt);
    expect(await say(third, 'curl https://example.com')).toContain('hello from outside');
    await leave(third);

    // A key file that others can read.
    const keyFile = join(ground.homeOf(user), 'anthropic.key');
    writeFileSync(keyFile, `${key}\n`);
    chmodSync(keyFile, 0o644);
    chownLike(keyFile, config());
    appendFileSync(config(), `credentials:\n  anthropic: { source: { file: ${keyFile} } }\n`);
    const trouble = `the credential anthropic cannot be used: ${keyFile} is open to other users (mode 644): run  chmod 600 ${keyFile}  and consider the credential seen`;
    const wrong = await at(['run', '--', 'true']);
    expect(wrong.screen).toContain('keys    none that can be used: anthropic cannot be read');
    expect(wrong.screen).toContain(`problem ${trouble}`);
    expect((await at(['config', 'check'])).screen).toContain(`problem ${trouble}`);
    const doctor = await at(['doctor', '--outside']);
    expect(doctor.screen).toMatch(new RegExp(`fail +credential +${trouble.replace(/[()]/g, '\\$&')}`));
    expect(doctor.screen).toContain('1 thing does not work');
    expect(doctor.code).toBe(1);
    chmodSync(keyFile, 0o600);
    expect((await at(['run', '--', 'true'])).screen).toContain(
      'keys    anthropic (file); the sandbox has placeholders only',
    );

    // A folder that is empty, but for what keeps the place of its policy: which says what to do instead.
    const empty = join(ground.homeOf(user), 'empty');
    mkdirSync(empty);
    chownLike(empty, config());
    const clone = ground.openTerminal(user, shell('--repo', nameOf(user), '--config', config()), {
      env: { ...env, GH_TOKEN: token },
      cwd: empty,
    });
    await clone.wait(prompt);
    const url = `https://github.com/${nameOf(user)}.git`;
    expect(await say(clone, `git clone ${url} .`)).toContain("destination path '.' already exists");
    const [, instead = ''] = /^#\s+(git init .*?)\r?$/m.exec(await say(clone, 'cat sallyport.yaml'))!;
    await say(clone, `${instead.replace('URL', url)} && cat README`);
    const whole = await say(clone, 'git status --short; git --no-pager log -1 --format=%an');
    expect(whole).toContain('A U Thor');
    expect(whole).not.toContain('sallyport.yaml');
    await leave(clone);

    // A gateway that was started by hand is killed: it is told at once, and the sandbox goes on with the next.
    const started = open(up);
    await started.wait('Sallyport is up.');
    const joined = open(shell('--gateway'));
    const pid = await processIn(joined, /the gateway of `sallyport up` \(process (\d+)\)/);
    await joined.wait(prompt);
    process.kill(pid, 'SIGKILL');
    await joined.wait(`the gateway has ended (process ${pid}): until there is one again, no request of this sandbox`);
    await joined.wait('Start it again (sallyport up), and the sandbox goes on with it; or end the command.');
    const again = open(up);
    const next = await processIn(joined, /a gateway serves this sandbox again \(process (\d+)\)/);
    expect(await say(joined, 'curl https://example.com')).toContain('hello from outside');
    await leave(joined);
    process.kill(next, 'SIGTERM');
    expect(await again.ended).toBe(0);

    // One that a run has started is started again by it.
    const own = open(shell());
    await own.wait(prompt);
    const twice = await at(['up']);
    expect(twice.screen).toContain('it ends by itself with the last run');
    process.kill(Number(/a gateway is up already: process (\d+)/.exec(twice.screen)?.[1]), 'SIGKILL');
    await own.wait('Another is being started.');
    await own.wait('a gateway serves this sandbox again');
    expect(await say(own, 'curl https://example.com')).toContain('hello from outside');
    await leave(own);
  });
});
