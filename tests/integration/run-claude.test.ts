import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentGround, type AgentRun, makeAgentGround } from '../support/pretend-agent-run.ts';
import { startPretendAnthropic } from '../support/pretend-anthropic.ts';
import { type PretendProvider, pretendAnswer } from '../support/pretend-provider.ts';
import { makeTestCa } from '../support/test-ca.ts';

const realKey = 'sk-ant-api03-the-real-key-of-ada-0123456789';
let provider: PretendProvider;
let ground: AgentGround;
let run: AgentRun;

beforeAll(async () => {
  const ca = makeTestCa();
  provider = await startPretendAnthropic(ca, realKey);
  ground = makeAgentGround(ca, 'anthropic', provider, { env: { ANTHROPIC_API_KEY: realKey } });
  run = await ground.run('claude -p hi');
}, 180_000);

afterAll(async () => {
  await provider.close();
  ground.remove();
});

describe('claude in a sandbox, with the key that the user has in the environment', () => {
  test('completes a turn', () => {
    expect(run.stdout).toContain(pretendAnswer);
    expect(run.code, run.stderr).toBe(0);
  });

  test('reaches Anthropic with the real key where it belongs, and never shows its placeholder', () => {
    expect(provider.seen.some(({ url }) => url.startsWith('/v1/messages'))).toBe(true);
    expect(provider.faults).toEqual([]);
  });

  test('holds a placeholder, and the key is nowhere in its sandbox', () => {
    expect(run.environment).toMatch(/^ANTHROPIC_API_KEY=sk-ant-api03-sallyport-placeholder/m);
    expect(run.environment).not.toContain(realKey);
    expect(run.files.size).toBeGreaterThan(0);
    expect([...run.files].filter(([, text]) => text.includes(realKey)).map(([path]) => path)).toEqual([]);
  });

  test('is written down as a request with the credential of the provider', () => {
    expect(run.journal).toContainEqual(
      expect.objectContaining({
        host: 'api.anthropic.com',
        path: '/v1/messages',
        status: 200,
        credential: 'anthropic',
      }),
    );
    expect(JSON.stringify(run.journal)).not.toContain(realKey);
  });
});
