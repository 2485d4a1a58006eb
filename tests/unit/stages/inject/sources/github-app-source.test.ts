import { describe, expect, test } from 'vitest';
import { reveal, type Secret } from '../../../../../src/path/secret.ts';
import type { GithubAppSource } from '../../../../../src/stages/inject/sources/github-app-source.ts';
import { SourceError } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { eventually } from '../../../../support/eventually.ts';
import { AppGround, answerOf, asking, sandboxWith } from './github-app-ground.ts';

const minute = 60_000;

async function tokenOf(source: GithubAppSource, ...asked: Parameters<typeof asking>): Promise<string | null> {
  const found = await source.current(asking(...asked));
  return found === null ? null : reveal(found);
}

async function failureOf(source: GithubAppSource, ...asked: Parameters<typeof asking>): Promise<SourceError> {
  try {
    await source.current(asking(...asked));
  } catch (error) {
    if (error instanceof SourceError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('a token is minted for the repositories of one sandbox', () => {
  test('all of them that have the owner of the request, and no others', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith({ repos: ['acme/widgets', 'other/thing', 'acme/gears'] });
    expect(await tokenOf(ground.source, sandbox, 'acme/gears')).toBe('ghs_token1');
    expect(ground.lines()).toEqual([
      'GET api.github.com/repos/acme/gears/installation',
      'POST api.github.com/app/installations/678/access_tokens',
    ]);
    expect(ground.mints()[0]!.repositories).toEqual(['widgets', 'gears']);
    expect(await tokenOf(ground.source, sandbox, 'other/thing')).toBe('ghs_token2');
    expect(ground.mints()[1]!.repositories).toEqual(['thing']);
    expect(ground.lines().at(-1)).toBe('POST api.github.com/app/installations/679/access_tokens');
  });

  test('by default with no more than the default permissions, as far as the App has them', async () => {
    const ground = new AppGround();
    ground.installed = { contents: 'read', issues: 'admin', metadata: 'read', administration: 'write' };
    await tokenOf(ground.source, sandboxWith(), 'acme/widgets');
    expect(ground.mints()[0]!.permissions).toEqual({ contents: 'read', issues: 'write', metadata: 'read' });
  });

  test('with exactly the permissions that the configuration names', async () => {
    const ground = new AppGround({ permissions: { contents: 'read' } });
    await tokenOf(ground.source, sandboxWith(), 'acme/widgets');
    expect(ground.mints()[0]!.permissions).toEqual({ contents: 'read' });
  });

  test('a registration for owner/* is limited by permissions alone', async () => {
    const ground = new AppGround();
    await tokenOf(ground.source, sandboxWith({ repos: ['acme/*', 'acme/widgets'] }), 'acme/anything');
    expect(ground.mints()[0]).toHaveProperty('permissions');
    expect(ground.mints()[0]).not.toHaveProperty('repositories');
  });

  test('an Enterprise host is asked under its own API, a fixed installation by its number', async () => {
    const ground = new AppGround({ installation: 42, api: { host: 'ghe.example.com', prefix: '/api/v3' } });
    ground.script = ({ line }) =>
      line.startsWith('GET') ? answerOf(200, { id: 678, account: { login: 'acme' } }) : null;
    await tokenOf(ground.source, sandboxWith(), 'acme/widgets');
    expect(ground.lines()).toEqual([
      'GET ghe.example.com/api/v3/app/installations/42',
      'POST ghe.example.com/api/v3/app/installations/678/access_tokens',
    ]);
  });

  test('a request that is about no repository gets none, and GitHub is not asked', async () => {
    const ground = new AppGround();
    expect(await tokenOf(ground.source, sandboxWith(), null)).toBeNull();
    expect(ground.source.current(null)).toBeNull();
    expect(ground.calls).toEqual([]);
  });

  test('the repository of a git request counts like one of the API', async () => {
    const ground = new AppGround();
    const git = {
      repository: 'acme/widgets',
      rawRepositoryPath: '/a/b',
      operation: 'upload-pack',
      ticket: null,
    } as const;
    const secret = await ground.source.current({ sandbox: sandboxWith(), permission: { git, repository: null } });
    expect(reveal(secret as Secret)).toBe('ghs_token1');
  });
});

describe('a token is kept and renewed', () => {
  test('it is at hand without a promise until five minutes before its end, and not a moment longer', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    await tokenOf(ground.source, sandbox, 'acme/widgets');
    ground.nowMs += 44 * minute;
    expect(ground.source.current(asking(sandbox, 'acme/widgets'))).not.toBeInstanceOf(Promise);
    expect(ground.mints()).toHaveLength(1);
    ground.script = () => answerOf(503, null);
    ground.nowMs += 11 * minute - 1;
    const before = ground.calls.length;
    expect(await tokenOf(ground.source, sandbox, 'acme/widgets')).toBe('ghs_token1');
    await eventually(() => ground.calls.length > before, 'GitHub is asked in the background');
    await settled();
    ground.nowMs += 1;
    expect((await failureOf(ground.source, sandbox, 'acme/widgets')).message).toContain('503');
  });

  test('in its last quarter it is renewed on use, in the background', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    await tokenOf(ground.source, sandbox, 'acme/widgets');
    ground.nowMs += 46 * minute;
    expect(await tokenOf(ground.source, sandbox, 'acme/widgets')).toBe('ghs_token1');
    await eventually(() => ground.mints().length === 2, 'another is minted');
    await settled();
    expect(await tokenOf(ground.source, sandbox, 'acme/widgets')).toBe('ghs_token2');
    expect(ground.mints()).toHaveLength(2);
  });

  test('a hundred requests at once wait for one mint', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    const all = await Promise.all(Array.from({ length: 100 }, () => tokenOf(ground.source, sandbox, 'acme/widgets')));
    expect(new Set(all)).toEqual(new Set(['ghs_token1']));
    expect(ground.calls).toHaveLength(2);
  });

  test('a token that GitHub ends too soon is not used, and is revoked', async () => {
    const ground = new AppGround();
    ground.lifeMs = 5 * minute;
    const failure = await failureOf(ground.source, sandboxWith(), 'acme/widgets');
    expect(failure.message).toContain('clock');
    expect(ground.revoked()).toEqual(['Bearer ghs_token1']);
  });
});

describe('a failure is remembered for a few seconds', () => {
  test('GitHub is not asked again meanwhile, and is asked after that', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    ground.script = () => answerOf(500, { message: 'oops' });
    const first = await failureOf(ground.source, sandbox, 'acme/widgets');
    expect(await failureOf(ground.source, sandbox, 'acme/widgets')).toBe(first);
    expect(ground.calls).toHaveLength(1);
    ground.script = () => null;
    ground.nowMs += 10_000;
    expect(await tokenOf(ground.source, sandbox, 'acme/widgets')).toBe('ghs_token1');
  });

  test('a repository without the App does not stop the others of its owner, also when both are asked for at once', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith({ repos: ['acme/*'] });
    ground.script = ({ line }) => (line.includes('/gone/') ? answerOf(404, { message: 'Not Found' }) : null);
    const [gone, good] = await Promise.all([
      failureOf(ground.source, sandbox, 'acme/gone'),
      tokenOf(ground.source, sandbox, 'acme/widgets'),
    ]);
    expect(gone.message).toContain('not installed on acme/gone');
    expect(good).toBe('ghs_token1');
  });
});

describe('tokens are revoked', () => {
  test('when their sandbox goes: those in use and those that were renewed but still good', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    const neighbour = sandboxWith({ id: 'sbx_other' });
    await tokenOf(ground.source, sandbox, 'acme/widgets');
    await tokenOf(ground.source, neighbour, 'acme/widgets');
    ground.nowMs += 46 * minute;
    await tokenOf(ground.source, sandbox, 'acme/widgets');
    await eventually(() => ground.mints().length === 3, 'another is minted');
    await settled();
    ground.source.drop(sandbox.id);
    await eventually(() => ground.revoked().length === 2, 'both are revoked');
    await settled();
    expect(ground.revoked().sort()).toEqual(['Bearer ghs_token1', 'Bearer ghs_token3']);
    expect(ground.reports.map(([what]) => what)).toContain('a GitHub App token was revoked');
    expect(JSON.stringify(ground.reports)).not.toContain('ghs_');
  });

  test('when the sandbox goes while its token is minted: nobody gets it', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    ground.script = ({ line }) => {
      if (line.startsWith('POST')) ground.source.drop(sandbox.id);
      return null;
    };
    const failure = await failureOf(ground.source, sandbox, 'acme/widgets');
    expect(failure.message).toContain('no longer registered');
    await eventually(() => ground.revoked().length === 1, 'it is revoked');
    expect(ground.revoked()).toEqual(['Bearer ghs_token1']);
  });

  test('when the gateway stops, which waits for it', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith({ repos: ['acme/widgets', 'other/thing'] });
    await tokenOf(ground.source, sandbox, 'acme/widgets');
    await tokenOf(ground.source, sandbox, 'other/thing');
    await ground.source.close();
    expect(ground.revoked()).toHaveLength(2);
    await failureOf(ground.source, sandbox, 'acme/widgets');
    expect(ground.mints()).toHaveLength(2);
  });

  test('a GitHub that does not answer holds up a stop for a few seconds only', async () => {
    const ground = new AppGround();
    await tokenOf(ground.source, sandboxWith(), 'acme/widgets');
    ground.script = () => new Promise(() => {});
    const startedMs = performance.now();
    await ground.source.close();
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  test('a registration that is over is not minted for', async () => {
    const ground = new AppGround();
    const sandbox = sandboxWith();
    ground.gone.add(sandbox);
    await failureOf(ground.source, sandbox, 'acme/widgets');
    expect(ground.calls).toEqual([]);
  });
});

/** Lets everything that needs no timer happen. Signing takes a thread. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 2));
}
