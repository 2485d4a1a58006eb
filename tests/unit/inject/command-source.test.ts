import { describe, expect, test } from 'vitest';
import { reveal } from '../../../src/flow/secret.ts';
import { CommandSource } from '../../../src/inject/command-source.ts';

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
    const holdOn = `require('child_process').spawn('sleep', ['3'], {stdio: 'inherit'}); setInterval(() => {}, 1000)`;
    const startedAt = performance.now();
    await expect(script(holdOn, 60, { timeLimitMs: 300 }).current()).rejects.toThrow('did not end within 0.3 s');
    expect(performance.now() - startedAt).toBeLessThan(2500);
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
