// The real GNOME Keyring on a session bus of its own, asked through the real secret-tool.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reveal } from '../../src/path/secret.ts';
import { KeyringSource } from '../../src/stages/inject/sources/keyring-source.ts';
import { eventually } from '../support/eventually.ts';
import { runClient } from '../support/run-client.ts';

const attributes = [
  ['service', 'sallyport'],
  ['account', 'anthropic'],
] as const;
let home: string;
let session: ChildProcess;
let env: Record<string, string>;

/** Says where its bus is, and lives until its input ends. */
const script = `printf 'a password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
echo "bus=$DBUS_SESSION_BUS_ADDRESS"
cat`;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-keyring-'));
  const base = { PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: home };
  session = spawn('dbus-run-session', ['--', 'sh', '-c', script], { env: base, stdio: ['pipe', 'pipe', 'ignore'] });
  let said = '';
  session.stdout!.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  const bus = await eventually(() => /bus=(\S+)/.exec(said), 'the session bus is there');
  env = { ...base, DBUS_SESSION_BUS_ADDRESS: bus[1]! };
  await store('from-the-keyring');
});

afterAll(async () => {
  const ended = new Promise((resolve) => session.once('close', resolve));
  session.stdin!.end();
  await ended;
  rmSync(home, { recursive: true, force: true });
});

async function store(value: string): Promise<void> {
  const words = ['store', '--label', 'Sallyport', ...attributes.flat()];
  const run = await runClient('secret-tool', words, { env, input: value });
  if (run.code !== 0) throw new Error(`secret-tool store: ${run.stderr}`);
}

describe('a credential in GNOME Keyring', () => {
  test('is what secret-tool has stored, and another value is taken up when an upstream refused it', async () => {
    let clock = 0;
    const source = new KeyringSource('k', attributes, { env, now: () => clock });
    const first = await source.current();
    expect(reveal(first)).toBe('from-the-keyring');
    await store('another');
    expect(await source.current()).toBe(first);
    clock += 6000;
    const found = await source.renewed(first);
    expect(found === null ? null : reveal(found)).toBe('another');
  });

  test('that is not there: says what to run', async () => {
    const source = new KeyringSource('k', [['service', 'no such']], { env });
    await expect(source.current()).rejects.toThrow(
      "the keyring has no entry with service no such, or is locked: unlock it, or run  secret-tool store --label Sallyport service 'no such'",
    );
  });

  test('is out of reach without a session bus, and that is said', async () => {
    const { DBUS_SESSION_BUS_ADDRESS: _, ...without } = env;
    for (const bus of [{}, { DBUS_SESSION_BUS_ADDRESS: '' }, { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' }]) {
      const source = new KeyringSource('k', attributes, {
        env: { ...without, XDG_RUNTIME_DIR: '/nonexistent', ...bus },
      });
      await expect(source.current()).rejects.toThrow('no session bus');
    }
  });
});
