import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import { KeyringSource, keyringArgv } from '../../../../../src/stages/inject/sources/keyring-source.ts';

const attributes = [
  ['service', "Sally's port"],
  ['account', 'anthropic'],
] as const;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-keyring-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A keyring program that does this, found by PATH. */
function pretend(program: string, script: string, platform: NodeJS.Platform, timeLimitMs = 5000): KeyringSource {
  const folder = mkdtempSync(join(directory, 'bin-'));
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, program), 0o755);
  return new KeyringSource('k', attributes, { platform, env: { PATH: `${folder}:/usr/bin:/bin` }, timeLimitMs });
}

describe('a question to the keyring', () => {
  test('names every attribute on Linux', () => {
    const asked = [...attributes, ['realm', 'x y']] as const;
    expect(keyringArgv(asked, 'linux')).toEqual([
      ...['secret-tool', 'lookup', 'service', "Sally's port", 'account', 'anthropic', 'realm', 'x y'],
    ]);
  });

  test('names service and account on macOS, where there are no others', () => {
    expect(keyringArgv([...attributes, ['realm', 'x']], 'darwin')).toEqual([
      ...['security', 'find-generic-password', '-w', '-s', "Sally's port", '-a', 'anthropic'],
    ]);
    expect(keyringArgv([['account', 'a']], 'darwin')).toEqual(['security', 'find-generic-password', '-w', '-a', 'a']);
  });

  test('is answered by the program, which is asked in English', async () => {
    const source = pretend('secret-tool', 'printf "%s|%s|%s" "$LC_ALL" "$1" "$3"', 'linux');
    expect(reveal(await source.current())).toBe("C.UTF-8|lookup|Sally's port");
  });
});

describe('a keyring that does not answer', () => {
  test.each<[string, string, NodeJS.Platform, string]>([
    [
      'secret-tool',
      'exit 1',
      'linux',
      "run  secret-tool store --label Sallyport service 'Sally'\\''s port' account anthropic",
    ],
    ['secret-tool', 'echo "secret-tool: Cannot autolaunch D-Bus without X11" >&2; exit 1', 'linux', 'no session bus'],
    [
      'secret-tool',
      'echo "The name org.freedesktop.secrets was not provided by any .service files" >&2; exit 1',
      'linux',
      'no keyring runs',
    ],
    ['secret-tool', 'exec sleep 5', 'linux', 'waits for somebody to unlock it'],
    ['secret-tool', 'echo "something new" >&2; exit 3', 'linux', 'ended with code 3, saying: something new'],
    [
      'security',
      'echo "security: SecKeychainSearchCopyNext: The specified item could not be found in the keychain." >&2; exit 44',
      'darwin',
      "run  security add-generic-password -w -s 'Sally'\\''s port' -a anthropic",
    ],
    [
      'security',
      'echo "security: SecKeychainSearchCopyNext: User interaction is not allowed." >&2; exit 36',
      'darwin',
      'security unlock-keychain',
    ],
  ])('%s: %s: the operator is told what to do', async (program, script, platform, told) => {
    await expect(pretend(program, script, platform, 1000).current()).rejects.toThrow(told);
  });

  test('because its program is not installed: says which package brings it', async () => {
    const source = new KeyringSource('k', attributes, { platform: 'linux', env: { PATH: '/nonexistent' } });
    await expect(source.current()).rejects.toThrow('install libsecret-tools');
  });
});
