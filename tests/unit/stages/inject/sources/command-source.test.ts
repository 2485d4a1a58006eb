import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import { CommandSource } from '../../../../../src/stages/inject/sources/command-source.ts';

const node = process.execPath;

function script(code: string, ttlSeconds = 60, options = {}): CommandSource {
  return new CommandSource('k', [node, '-e', code], ttlSeconds, options);
}

describe('a credential that a command prints', () => {
  test('is its standard output without the trailing newline, and then at hand without waiting', async () => {
    const source = script('console.log("value")');
    const first = await source.current();
    expect(reveal(first)).toBe('value');
    expect(source.current()).toBe(first);
  });

  test('is asked for once, however many wait for it', async () => {
    const source = script('console.log(Math.random())');
    const all = await Promise.all([source.current(), source.current(), source.current()]);
    expect(new Set(all).size).toBe(1);
  });

  test('is asked for again when its time is over', async () => {
    let clock = 0;
    const source = script('console.log(process.pid)', 60, { now: () => clock });
    const first = await source.current();
    clock = 59_000;
    expect(source.current()).toBe(first);
    clock = 61_000;
    expect(reveal(await source.current())).not.toBe(reveal(first));
  });

  test('is run without a shell', async () => {
    const source = new CommandSource('k', [node, '-p', 'process.argv[1]', '$(id); `id` | cat > /x'], 60);
    expect(reveal(await source.current())).toBe('$(id); `id` | cat > /x');
  });

  test.each([
    [['/nonexistent/program'], 'was not found'],
    [[node, '-e', 'process.exit(3)'], 'ended with code 3'],
    [[node, '-e', 'process.kill(process.pid, "SIGTERM")'], 'was ended by SIGTERM'],
    [[node, '-e', 'console.log("x".repeat(100000))'], 'printed more than 65536 bytes'],
    [[node, '-e', ''], 'is empty'],
    [[node, '-e', 'console.log("a\\nb")'], 'control character'],
  ])('case %#: a failure says what happened: %s %s', async (argv, reason) => {
    await expect(new CommandSource('k', argv, 60).current()).rejects.toThrow(reason);
  });

  test('cannot hold the gateway up: it is ended after its time limit, even when a child keeps its output open', async () => {
    const holdOn = `require('child_process').spawn('sleep', ['10'], {stdio: 'inherit'}); setInterval(() => {}, 1000)`;
    const startedAt = performance.now();
    await expect(script(holdOn, 60, { timeLimitMs: 300 }).current()).rejects.toThrow('did not end within 0.3 s');
    expect(performance.now() - startedAt).toBeLessThan(9000);
  });

  test('reads nothing from us: a prompt sees the end of its input', async () => {
    const source = script('process.stdin.on("end", () => console.log("no one there")).resume()');
    expect(reveal(await source.current())).toBe('no one there');
  });

  test('is left alone for a while after a failure, then tried again', async () => {
    let clock = 0;
    const source = script('process.exit(1)', 60, { now: () => clock });
    await expect(source.current()).rejects.toThrow('code 1');
    clock = 4000;
    expect(() => source.current()).toThrow('code 1');
    clock = 6000;
    expect(source.current()).toBeInstanceOf(Promise);
    await expect(source.current()).rejects.toThrow('code 1');
  });
});

describe('a value that an upstream refused', () => {
  const counting =
    'const fs = require("fs"); const n = +fs.readFileSync(process.argv[1]) + 1; fs.writeFileSync(process.argv[1], String(n)); console.log("run-" + n)';

  function counted(ttlSeconds = 60) {
    const directory = mkdtempSync(join(tmpdir(), 'sallyport-command-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const counter = join(directory, 'count');
    writeFileSync(counter, '0');
    const clock = { ms: 0 };
    const source = new CommandSource('k', [node, '-e', counting, counter], ttlSeconds, { now: () => clock.ms });
    return { source, clock, counter };
  }

  test('is replaced by running the command again, once for all that ask, and is then the one in force', async () => {
    const { source, clock, counter } = counted();
    const refused = await source.current();
    clock.ms = 6000;
    const found = await Promise.all([source.renewed(refused), source.renewed(refused), source.renewed(refused)]);
    expect(found.map((secret) => secret && reveal(secret))).toEqual(['run-2', 'run-2', 'run-2']);
    expect(source.current()).toBe(found[0]);
    expect(readFileSync(counter, 'utf8')).toBe('2');
    // One that was sent with the first value and comes late gets the second, without another run.
    expect(await source.renewed(refused)).toBe(found[0]);
    expect(readFileSync(counter, 'utf8')).toBe('2');
  });

  test('does not make the command run more often than every five seconds', async () => {
    const { source, clock, counter } = counted();
    const first = await source.current();
    expect(await source.renewed(first)).toBeNull();
    clock.ms = 4900;
    expect(await source.renewed(first)).toBeNull();
    expect(readFileSync(counter, 'utf8')).toBe('1');
    clock.ms = 5100;
    expect(await source.renewed(first)).not.toBeNull();
  });

  test('stays in force when there is no other, and when the command fails', async () => {
    let clock = 0;
    const same = script('console.log("same")', 60, { now: () => clock });
    const first = await same.current();
    clock = 6000;
    expect(await same.renewed(first)).toBeNull();
    expect(reveal(await same.current())).toBe('same');

    const { source, clock: time, counter } = counted();
    const refused = await source.current();
    rmSync(counter);
    time.ms = 6000;
    await expect(source.renewed(refused)).rejects.toThrow('ended with code 1');
    expect(source.current()).toBe(refused);
  });
});

describe('where and with what a command runs', () => {
  test('not in the folder in which the gateway was started: an agent may write there', async () => {
    expect(reveal(await script('console.log(process.cwd())').current())).toBe('/');
  });

  test('with the variables that its source names, beside the usual ones', async () => {
    const env = { PATH: '/usr/bin', VAULT_ADDR: 'https://vault.example', VAULT_TOKEN: 's.1', OTHER: 'x' };
    const names = 'console.log(Object.keys(process.env).sort().join(" "))';
    expect(reveal(await script(names, 60, { env, passEnv: ['VAULT_ADDR', 'NOT_SET'] }).current())).toBe(
      'PATH VAULT_ADDR',
    );
  });
});
