import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../support/eventually.ts';
import { jwtUntil, OAuthGround, tokenIn } from './oauth-ground.ts';

let ground: OAuthGround;

beforeEach(() => {
  ground = new OAuthGround();
});
afterEach(() => ground.end());

describe('what is written back', () => {
  const path = '.claude/.credentials.json';
  const login = (access: string, refresh: string): object => ({
    claudeAiOauth: { accessToken: access, refreshToken: refresh, expiresAt: 1 },
  });

  test('goes through a link to where the file really is, with its mode, and leaves nothing beside it', async () => {
    const real = ground.put('dotfiles/claude.json', login('old', 'r0'), 0o640);
    mkdirSync(join(ground.home, '.claude'));
    symlinkSync(real, join(ground.home, path));
    await ground.open('anthropic', 'claude').current();
    expect(readFileSync(real, 'utf8')).toContain('refresh-token-1');
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(readdirSync(dirname(real))).toEqual(['claude.json']);
    expect(readdirSync(join(ground.home, '.claude'))).toEqual(['.credentials.json']);
    expect(readdirSync(ground.home).sort()).toEqual(['.claude', 'dotfiles']);
  });

  test('keeps to one line where the agent does', async () => {
    ground.put(path, `${JSON.stringify(login('old', 'r0'))}\n`);
    await ground.open('anthropic', 'claude').current();
    const text = readFileSync(join(ground.home, path), 'utf8');
    expect(text.trimEnd()).not.toContain('\n');
    expect(text.endsWith('\n')).toBe(true);
  });

  test('what another program has put into the file meanwhile stays', async () => {
    ground.put(path, login('old', 'r0'));
    ground.answer = () => {
      ground.put(path, { ...login('old', 'r0'), mcpOAuth: { added: true } });
      return null;
    };
    await ground.open('anthropic', 'claude').current();
    expect(ground.read(path)).toMatchObject({
      mcpOAuth: { added: true },
      claudeAiOauth: { refreshToken: 'refresh-token-1' },
    });
  });

  test('a login that the user made meanwhile is not written over, and is used from then on', async () => {
    ground.put(path, login('old', 'r0'));
    ground.answer = () => {
      ground.put(path, {
        claudeAiOauth: { accessToken: 'mine', refreshToken: 'mine-r', expiresAt: ground.nowMs + 4e6 },
      });
      return null;
    };
    const source = ground.open('anthropic', 'claude');
    await source.current();
    expect(ground.read(path)).toMatchObject({ claudeAiOauth: { refreshToken: 'mine-r' } });
    ground.pass(2);
    expect(await tokenIn(source.current())).toBe('mine');
  });

  test('a user who logged out meanwhile stays logged out', async () => {
    ground.put(path, login('old', 'r0'));
    ground.answer = () => {
      ground.put(path, {});
      return null;
    };
    const source = ground.open('anthropic', 'claude');
    await source.current();
    expect(ground.read(path)).toEqual({});
    ground.pass(2);
    expect(source.current()).toBeNull();
  });

  test('a login that an agent outside has renewed is taken over, and its spent one is not sent', async () => {
    ground.put(path, login('old', 'r0'));
    const source = ground.open('anthropic', 'claude');
    source.listed();
    ground.put(path, { claudeAiOauth: { accessToken: 'theirs', refreshToken: 'r1', expiresAt: ground.nowMs + 4e6 } });
    expect(await tokenIn(source.current())).toBe('theirs');
    expect(ground.asked).toEqual([]);
  });

  test('also when it was renewed at the very moment, and ours came second', async () => {
    ground.put(path, login('old', 'r0'));
    ground.answer = () => {
      ground.put(path, { claudeAiOauth: { accessToken: 'theirs', refreshToken: 'r1', expiresAt: ground.nowMs + 4e6 } });
      return { status: 400, body: { error: 'invalid_grant' } };
    };
    expect(await tokenIn(ground.open('anthropic', 'claude').current())).toBe('theirs');
    expect(ground.reports).toEqual([]);
  });

  test('a file that is half written at the moment does not interrupt anything', async () => {
    ground.put(path, { claudeAiOauth: { accessToken: 'good', refreshToken: 'r0', expiresAt: ground.nowMs + 4e6 } });
    const source = ground.open('anthropic', 'claude');
    await source.current();
    writeFileSync(join(ground.home, path), '{"claudeAi');
    ground.pass(2);
    expect(await tokenIn(source.current())).toBe('good');
  });
});

describe('what cannot be saved', () => {
  test('stays in memory and in use, is told loudly, and is saved as soon as it can be', async () => {
    const path = '.codex/auth.json';
    // Nothing is read-only to root, as whom tests run; but beside a name of this length no other can be made.
    const long = ground.put(`.codex/${'x'.repeat(250)}`, {
      tokens: { access_token: jwtUntil(ground.nowMs - 1000), refresh_token: 'r0', account_id: 'a' },
    });
    symlinkSync(long, join(ground.home, path));
    const source = ground.open('chatgpt', 'codex');
    expect(await tokenIn(source.current())).toBe('access-token-1');
    expect(ground.reports).toMatchObject([
      {
        what: expect.stringMatching(
          /^THE NEW REFRESH TOKEN COULD NOT BE SAVED in ~\/\.codex\/auth\.json: .*login is lost/,
        ),
        detail: { credential: 'chatgpt', error: 'ENAMETOOLONG' },
      },
      { what: 'a token was renewed' },
    ]);
    expect(source.problem).toMatch(/^the new refresh token could not be saved in ~\/\.codex\/auth\.json/);
    // It is tried again on use, though not with every request.
    ground.pass(5);
    for (let i = 0; i < 10; i++) expect(await tokenIn(source.current())).toBe('access-token-1');
    await eventually(() => ground.reports.length >= 3, 'another attempt to save');
    expect(ground.reports).toHaveLength(3);
    // And renewed again in that state, with the token that only we have.
    ground.pass(3600);
    expect(await tokenIn(source.current())).toBe('access-token-2');
    expect(ground.asked[1]?.members.refresh_token).toBe('refresh-token-1');
    expect(ground.read(path)).toMatchObject({ tokens: { refresh_token: 'r0' } });
    renameSync(long, join(ground.home, '.codex/real.json'));
    rmSync(join(ground.home, path));
    symlinkSync(join(ground.home, '.codex/real.json'), join(ground.home, path));
    ground.pass(5);
    expect(await tokenIn(source.current())).toBe('access-token-2');
    await eventually(() => source.problem === null, 'it is saved');
    expect(ground.read(path)).toMatchObject({ tokens: { refresh_token: 'refresh-token-2', account_id: 'a' } });
  });

  test('is tried once more when the gateway stops', async () => {
    const path = '.codex/auth.json';
    const long = ground.put(`.codex/${'x'.repeat(250)}`, {
      tokens: { access_token: jwtUntil(1), refresh_token: 'r0' },
    });
    symlinkSync(long, join(ground.home, path));
    const source = ground.open('chatgpt', 'codex');
    await source.current();
    rmSync(join(ground.home, path));
    renameSync(long, join(ground.home, path));
    await source.close();
    expect(ground.read(path)).toMatchObject({ tokens: { refresh_token: 'refresh-token-1' } });
  });

  test('is not in the way of the next renewal, when both wait for the lock', async () => {
    const path = '.codex/auth.json';
    const long = ground.put(`.codex/${'x'.repeat(250)}`, {
      tokens: { access_token: jwtUntil(1), refresh_token: 'r0' },
    });
    symlinkSync(long, join(ground.home, path));
    const source = ground.open('chatgpt', 'codex');
    const secret = await source.current();
    if (secret === null) throw new Error('nobody is logged in');
    expect(source.problem).toMatch(/^the new refresh token could not be saved/);
    ground.pass(60);
    rmSync(join(ground.home, path));
    renameSync(long, join(ground.home, path));
    const lock = join(ground.home, `${path}.sallyport-lock`);
    mkdirSync(lock);
    const renewed = source.renewed(secret);
    // Another request comes meanwhile, on which saving is tried.
    await source.current();
    rmSync(lock, { recursive: true });
    expect(await tokenIn(renewed)).toBe('access-token-2');
    expect(ground.read(path)).toMatchObject({ tokens: { refresh_token: 'refresh-token-2' } });
    expect(ground.reports.map(({ detail }) => detail.error)).toEqual(['ENAMETOOLONG', undefined, undefined]);
  });
});
