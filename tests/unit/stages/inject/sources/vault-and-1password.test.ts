// The lines that docs/secrets.md gives for Vault and 1Password, against stand-ins that take the same words, read the same
// variables and files, and fail in the same way as the real programs.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import { CommandSource } from '../../../../../src/stages/inject/sources/command-source.ts';

const vaultCommand = ['vault', 'kv', 'get', '-field=token', 'secret/agents/anthropic'];
const opCommand = ['op', 'read', 'op://Agents/anthropic/credential'];

/** Without a terminal `-field` prints the value and no newline; API errors are on standard error, with code 2. */
const vault = `#!/bin/sh
[ "$1 $2" = "kv get" ] || { echo "Usage: vault <command> [args]" >&2; exit 127; }
token="\${VAULT_TOKEN:-$(cat "$HOME/.vault-token" 2>/dev/null)}"
if [ "$VAULT_ADDR" != "https://vault.example:8200" ]; then
  echo "Get \\"https://127.0.0.1:8200/v1/sys/internal/ui/mounts/secret/agents/anthropic\\": dial tcp 127.0.0.1:8200: connect: connection refused" >&2
  exit 2
fi
if [ "$token" != "hvs.the-gateways-own-token" ]; then
  printf 'Error making API request.\\n\\nURL: GET https://vault.example:8200/v1/secret/data/agents/anthropic\\nCode: 403. Errors:\\n\\n* permission denied\\n' >&2
  exit 2
fi
[ "$4" = "secret/agents/anthropic" ] || { echo "No value found at secret/data/\${4#secret/}" >&2; exit 2; }
[ "$3" = "-field=token" ] || { echo 'Field "other" not present in secret' >&2; exit 1; }
printf '%s' 'sk-ant-from-vault'`;

const op = `#!/bin/sh
[ "$1" = "read" ] || exit 1
if [ "$OP_SERVICE_ACCOUNT_TOKEN" != "ops_the-gateways-own-token" ]; then
  echo "[ERROR] 2027/01/15 09:00:00 could not read secret '$2': error initializing client: No accounts configured for use with 1Password CLI." >&2
  exit 1
fi
if [ "$2" != "op://Agents/anthropic/credential" ]; then
  echo "[ERROR] 2027/01/15 09:00:00 could not read secret '$2': could not find item in vault Agents." >&2
  exit 1
fi
echo 'sk-ant-from-1password'`;

let directory: string;
let usual: Record<string, string>;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-managers-'));
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  for (const [name, script] of Object.entries({ vault, op })) {
    writeFileSync(join(bin, name), script);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(directory, '.vault-token'), 'hvs.the-gateways-own-token', { mode: 0o600 });
  usual = { PATH: `${bin}:/usr/bin:/bin`, HOME: directory };
});
afterAll(() => rmSync(directory, { recursive: true }));

function asked(argv: readonly string[], env: Record<string, string>, passEnv: readonly string[]): CommandSource {
  return new CommandSource('anthropic', argv, 300, { env: { ...usual, ...env }, passEnv });
}

describe('HashiCorp Vault, by its own program', () => {
  const env = { VAULT_ADDR: 'https://vault.example:8200' };

  test('gives the field of a secret, with the token that `vault login` has left in the home', async () => {
    expect(reveal(await asked(vaultCommand, env, ['VAULT_ADDR']).current())).toBe('sk-ant-from-vault');
  });

  test('is not found where its address is not passed on: the message names what it tried', async () => {
    await expect(asked(vaultCommand, env, []).current()).rejects.toThrow('vault ended with code 2');
  });

  test('says no, and the operator hears it', async () => {
    const wrong = { ...env, VAULT_TOKEN: 'hvs.another' };
    await expect(asked(vaultCommand, wrong, ['VAULT_ADDR', 'VAULT_TOKEN']).current()).rejects.toThrow(
      'vault ended with code 2, saying: Error making API request.',
    );
    const nothing = [...vaultCommand.slice(0, -1), 'secret/agents/x'];
    await expect(asked(nothing, env, ['VAULT_ADDR']).current()).rejects.toThrow('saying: No value found at');
  });
});

describe('1Password, by its own program', () => {
  const env = { OP_SERVICE_ACCOUNT_TOKEN: 'ops_the-gateways-own-token' };

  test('gives a field by its reference, with the service account that is passed on to it alone', async () => {
    expect(reveal(await asked(opCommand, env, Object.keys(env)).current())).toBe('sk-ant-from-1password');
  });

  test('is not logged in unless that is passed on, and the operator hears it', async () => {
    const failed = asked(opCommand, env, []).current();
    await expect(failed).rejects.toThrow('No accounts configured for use with 1Password CLI');
    await expect(failed).rejects.not.toThrow('ops_');
  });
});
