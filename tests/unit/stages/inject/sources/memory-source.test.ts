import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../../src/path/secret.ts';
import { MemorySource } from '../../../../../src/stages/inject/sources/memory-source.ts';
import type { SecretSource } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { tokenIn } from '../logins/oauth-ground.ts';

describe('a credential that waits for `secret set`', () => {
  const refused = new Secret('chatgpt', 'refused');
  const standIn: SecretSource = {
    current: async () => new Secret('chatgpt', 'of-the-user'),
    renewed: async () => new Secret('chatgpt', 'renewed'),
    listed: () => null,
    problem: 'it has ended',
  };
  const open = (): MemorySource =>
    new MemorySource('chatgpt', () => ({
      source: standIn,
      origin: 'ChatGPT login in ~/.codex/auth.json',
      problem: null,
    }));

  test('has that of the user until then, with all that it can do', async () => {
    const source = open();
    expect(await tokenIn(source.current())).toBe('of-the-user');
    expect(await tokenIn(source.renewed(refused, null))).toBe('renewed');
    expect(source.listed()).toBeNull();
    expect([source.origin, source.problem]).toEqual(['ChatGPT login in ~/.codex/auth.json', 'it has ended']);
  });

  test('and then only what was set, which nothing renews', async () => {
    const source = open();
    source.set('by-hand');
    expect(await tokenIn(source.current())).toBe('by-hand');
    expect(await source.renewed(refused, null)).toBeNull();
    expect(await tokenIn(source.listed())).toBe('by-hand');
    expect([source.origin, source.problem]).toEqual([null, null]);
  });

  test('a login of the user that was removed does not come back', async () => {
    const source = open();
    expect(source.clear()).toBe(true);
    expect(await tokenIn(source.current())).toBeNull();
    expect(source.clear()).toBe(false);
  });
});
