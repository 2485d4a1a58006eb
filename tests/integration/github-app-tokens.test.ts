import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type AppGround, openAppGround } from './github-app-ground.ts';

let ground: AppGround;
let stopped = false;
beforeEach(async () => {
  ground = await openAppGround();
  stopped = false;
});
afterEach(async () => {
  if (!stopped) await ground.stop();
});

describe('a GitHub App behind the door', () => {
  test('two sandboxes get two tokens, each for its own repositories and the default permissions', async () => {
    const one = await ground.sandbox(['acme/widgets', 'acme/gears']);
    const two = await ground.sandbox(['acme/payroll']);
    expect((await one.fetchRefs('acme/gears')).status).toBe(200);
    expect((await two.fetchRefs('acme/payroll')).status).toBe(200);
    expect((await one.fetchRefs('acme/widgets')).status).toBe(200);
    expect(ground.minted.map(({ repositories }) => repositories)).toEqual([
      ['acme/widgets', 'acme/gears'],
      ['acme/payroll'],
    ]);
    expect(ground.minted[0]!.permissions).toEqual({
      actions: 'read',
      checks: 'read',
      contents: 'write',
      issues: 'write',
      metadata: 'read',
      pull_requests: 'write',
      statuses: 'read',
    });
    // A repository that is not the sandbox's is refused before anybody is asked for a token.
    expect((await one.fetchRefs('acme/payroll')).status).toBe(403);
    expect(ground.minted).toHaveLength(2);
  });

  test('twenty requests at once lead to one mint', async () => {
    ground.github.delayMs = 100;
    const one = await ground.sandbox(['acme/widgets']);
    const all = await Promise.all(Array.from({ length: 20 }, () => one.fetchRefs('acme/widgets')));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(ground.appCalls).toEqual([
      'GET /repos/acme/widgets/installation',
      'POST /app/installations/678/access_tokens',
    ]);
  });

  test('a token in its last five minutes is replaced by a new one', async () => {
    ground.github.lifeMs = 5 * 60_000 + 1_000;
    const one = await ground.sandbox(['acme/widgets']);
    expect((await one.fetchRefs('acme/widgets')).status).toBe(200);
    await eventually(async () => {
      expect((await one.fetchRefs('acme/widgets')).status).toBe(200);
      return ground.minted.length === 2;
    }, 'a second token');
  });

  test('unregistering revokes the token of that sandbox alone', async () => {
    const one = await ground.sandbox(['acme/widgets']);
    const two = await ground.sandbox(['acme/widgets']);
    await one.fetchRefs('acme/widgets');
    await two.fetchRefs('acme/widgets');
    expect((await ground.gateway.admin('DELETE', `/internal/containers/${one.id}`)).status).toBeLessThan(300);
    await eventually(() => ground.minted[0]!.revoked, 'the revocation');
    expect(ground.minted[1]!.revoked).toBe(false);
    expect((await two.fetchRefs('acme/widgets')).status).toBe(200);
  });

  test('a stop of the gateway revokes what is left', async () => {
    const one = await ground.sandbox(['acme/widgets']);
    await one.fetchRefs('acme/widgets');
    stopped = true;
    await ground.stop();
    expect(ground.minted.map(({ revoked }) => revoked)).toEqual([true]);
  });

  test('a request that is about no repository goes without a token', async () => {
    const one = await ground.sandbox(['acme/widgets']);
    await one.get('api.github.com', '/meta');
    expect(ground.minted).toEqual([]);
    for (const { headers } of ground.upstream.seen) expect(headers).not.toHaveProperty('authorization');
  });
});

describe('a change of the configuration', () => {
  test('keeps the tokens of an App that stays, and revokes those of one that goes', async () => {
    const one = await ground.sandbox(['acme/widgets']);
    await one.fetchRefs('acme/widgets');
    const app = { id: 12345, private_key: { file: ground.keyFile } };
    const rest = ground.config;
    ground.gateway.writeConfig({ ...rest, credentials: { github: { app } }, limits: { requests_per_minute: 500 } });
    await ground.gateway.gateway.reload();
    expect((await one.fetchRefs('acme/widgets')).status).toBe(200);
    expect(ground.minted).toHaveLength(1);
    ground.gateway.writeConfig({ ...rest, credentials: {} });
    await ground.gateway.gateway.reload();
    await eventually(() => ground.minted[0]!.revoked, 'the revocation');
  });
});
