// Guards: a gateway of a platform (`sallyport up`) that hands the login of whoever started it to every sandbox. Only
// `sallyport run` looks for keys and logins by itself.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { startTestGateway } from '../../support/test-gateway.ts';

const home = mkdtempSync(join(tmpdir(), 'sallyport-user-'));

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

test('without a source a credential waits to be set, whatever its user has', async () => {
  mkdirSync(join(home, '.claude'));
  const claudeAiOauth = { accessToken: 'an-access-token', refreshToken: 'a-refresh-token', expiresAt: 4e12 };
  writeFileSync(join(home, '.claude/.credentials.json'), JSON.stringify({ claudeAiOauth }), { mode: 0o600 });
  vi.stubEnv('HOME', home);
  vi.stubEnv('OPENAI_API_KEY', 'the-key-of-ada');
  const gateway = await startTestGateway({ allow: [{ preset: 'anthropic' }, { preset: 'openai' }] });
  try {
    const listed = gateway.gateway.summary.credentials;
    expect(listed.map(({ name }) => name).sort()).toEqual(['anthropic', 'chatgpt', 'openai']);
    for (const one of listed) expect(one).toMatchObject({ source: 'memory', set: false, unasked: false });
    expect(process.env.OPENAI_API_KEY).toBe('the-key-of-ada');
  } finally {
    await gateway.stop();
  }
});
