// Must not happen: what a credential command prints reaches an answer or an error, or the command gets to see the
// gateway's own secrets.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/path/refusal.ts';
import { reveal } from '../../../src/path/secret.ts';
import { CommandSource } from '../../../src/stages/inject/sources/command-source.ts';
import { makeSecretStore } from '../../support/secret-store.ts';
import { spec } from '../../unit/stages/inject/authorized-flow.ts';

const value = 'p1ant';
const token = 'sk-ant-REAL0123456789abcdef';

async function refusalOf(code: string): Promise<Refusal> {
  const store = makeSecretStore({});
  const argv = [process.execPath, '-e', code];
  store.configure(new Map([['k', spec('k', { source: { kind: 'command', argv, ttlSeconds: 60 } })]]));
  const refusal = await Promise.resolve(store.resolve('k')).catch((error: unknown) => error);
  if (refusal instanceof Refusal) return refusal;
  throw new Error('it did not fail');
}

describe('a failing command keeps its output to itself', () => {
  test.each([
    ['on standard output', `console.log('${value}'); process.exit(1)`],
    ['on both', `console.log('${value}'); console.error('cannot store ${value}'); process.exit(1)`],
    ['as a token on the first line of standard error', `console.error('bad token ${token}'); process.exit(1)`],
    ['on a later line of standard error', `console.error('failed\\n${value} ${token}'); process.exit(1)`],
    ['in its arguments', `process.exit(1) // ${value} ${token}`],
    ['in two lines', `console.log('${value}\\n${token}')`],
  ])('%s', async (_, code) => {
    const refusal = await refusalOf(code);
    const shown = inspect(refusal, { depth: 20 });
    expect(shown).not.toContain(value);
    expect(shown).not.toContain(token);
  });

  test('the operator sees how it failed, the sandbox only that it did', async () => {
    const refusal = await refusalOf(`console.error('vault is locked'); process.exit(2)`);
    expect(String(refusal.cause)).toContain('ended with code 2, saying: vault is locked');
    expect(refusal.message + refusal.hint).not.toContain('vault');
  });
});

describe('a command gets a bare environment', () => {
  test('what it needs to find itself, and nothing that could be a credential', async () => {
    const env = {
      PATH: '/usr/bin:/bin',
      HOME: '/home/x',
      GITHUB_TOKEN: token,
      NODE_OPTIONS: '--no-warnings',
      LD_PRELOAD: 'x',
    };
    const argv = [process.execPath, '-p', 'Object.keys(process.env).sort().join(" ")'];
    expect(reveal(await new CommandSource('k', argv, 60, { env }).current())).toBe('HOME PATH');
  });
});
