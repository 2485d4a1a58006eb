// Must not happen: a sandbox is served with an App token that was minted for another sandbox, or that opens more
// repositories or permissions than its registration and the policy say.
import { describe, expect, test } from 'vitest';
import { reveal } from '../../../src/path/secret.ts';
import { SourceError } from '../../../src/stages/inject/sources/secret-source.ts';
import {
  AppGround,
  answerOf,
  asking,
  type SeenCall,
  sandboxWith,
} from '../../unit/stages/inject/sources/github-app-ground.ts';

async function outcome(ground: AppGround, ...asked: Parameters<typeof asking>): Promise<string> {
  try {
    const found = await ground.source.current(asking(...asked));
    return found === null ? 'none' : reveal(found);
  } catch (error) {
    if (error instanceof SourceError) return `refused: ${error.message}`;
    throw error;
  }
}

/** The usual answer to a mint, with something changed in it. */
function mintedWith(ground: AppGround, change: object): (call: SeenCall) => ReturnType<typeof answerOf> | null {
  return (call) => {
    if (!call.line.startsWith('POST')) return null;
    const usual = JSON.parse(ground.usual(call).body.toString()) as object;
    return answerOf(201, { ...usual, ...change });
  };
}

describe('a token stays with the registration it was minted for', () => {
  test('two sandboxes with the same repository have two tokens', async () => {
    const ground = new AppGround();
    expect(await outcome(ground, sandboxWith({ id: 'a' }), 'acme/widgets')).toBe('ghs_token1');
    expect(await outcome(ground, sandboxWith({ id: 'b' }), 'acme/widgets')).toBe('ghs_token2');
  });

  test('two sandboxes that ask at the same moment do not share a mint', async () => {
    const ground = new AppGround();
    const narrow = sandboxWith({ id: 'narrow', repos: ['acme/widgets'] });
    const wide = sandboxWith({ id: 'wide', repos: ['acme/*'] });
    const both = await Promise.all([outcome(ground, wide, 'acme/widgets'), outcome(ground, narrow, 'acme/widgets')]);
    expect(new Set(both).size).toBe(2);
    expect(ground.mints().map(({ repositories }) => repositories)).toEqual(
      expect.arrayContaining([undefined, ['widgets']]),
    );
  });

  test('a later registration of the same id, for other repositories, does not inherit the token', async () => {
    const ground = new AppGround();
    const before = sandboxWith({ repos: ['acme/widgets', 'acme/secret'] });
    const after = sandboxWith({ repos: ['acme/widgets'] });
    expect(await outcome(ground, before, 'acme/widgets')).toBe('ghs_token1');
    // Even if nobody said that the first one went.
    expect(await outcome(ground, after, 'acme/widgets')).toBe('ghs_token2');
    expect(ground.mints()[1]!.repositories).toEqual(['widgets']);
  });

  test('a mint that ends after its sandbox went does not serve the next registration of the id', async () => {
    const ground = new AppGround();
    const before = sandboxWith({ repos: ['acme/secret'] });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    ground.script = async (call) => {
      if (call.line.startsWith('POST') && ground.mints().length === 1) await held;
      return ground.usual(call);
    };
    const late = outcome(ground, before, 'acme/secret');
    await expect.poll(() => ground.mints().length).toBe(1);
    ground.source.drop(before.id);
    expect(await outcome(ground, sandboxWith({ repos: ['acme/widgets'] }), 'acme/widgets')).toBe('ghs_token1');
    release();
    expect(await late).toContain('refused');
    await expect.poll(() => ground.revoked()).toEqual(['Bearer ghs_token2']);
  });
});

describe('a token that opens more than was asked for is not used', () => {
  test.each([
    ['other repositories as well', { repositories: [{ full_name: 'acme/widgets' }, { full_name: 'acme/payroll' }] }],
    ['a repository of the same name and another owner', { repositories: [{ full_name: 'evil/widgets' }] }],
    ['every repository (no list in the answer)', { repositories: undefined }],
    ['a permission that was not asked for', { permissions: { contents: 'write', administration: 'write' } }],
    ['a permission that goes further', { permissions: { metadata: 'write' } }],
  ])('%s: refused, and revoked at once', async (_, change) => {
    const ground = new AppGround();
    ground.script = mintedWith(ground, change);
    expect(await outcome(ground, sandboxWith(), 'acme/widgets')).toContain('the token was not used');
    expect(ground.revoked()).toEqual(['Bearer ghs_token1']);
  });

  test('an installation of another account is not minted from, though it has a repository of the same name', async () => {
    const ground = new AppGround({ installation: 42 });
    ground.script = ({ line }) =>
      line.startsWith('GET') ? answerOf(200, { id: 42, account: { login: 'acme' } }) : null;
    const sandbox = sandboxWith({ repos: ['evil/widgets'] });
    expect(await outcome(ground, sandbox, 'evil/widgets')).toContain('belongs to another account');
    expect(ground.mints()).toEqual([]);
  });

  test('a repository that the sandbox does not have is not minted for, whoever let the request through', () => {
    const ground = new AppGround();
    expect(() => ground.source.current(asking(sandboxWith(), 'acme/payroll'))).toThrow('not of sbx_test');
    expect(ground.calls).toEqual([]);
  });
});
