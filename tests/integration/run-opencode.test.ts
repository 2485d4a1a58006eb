import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentGround, type AgentRun, makeAgentGround } from '../support/pretend-agent-run.ts';
import { startPretendAnthropic } from '../support/pretend-anthropic.ts';
import { type PretendProvider, pretendAnswer } from '../support/pretend-provider.ts';
import { makeTestCa } from '../support/test-ca.ts';

const realKey = 'sk-ant-api03-the-real-key-of-ada-0123456789';
const keyFile = '.local/share/opencode/auth.json';
let provider: PretendProvider;
let ground: AgentGround;
let run: AgentRun;

beforeAll(async () => {
  const ca = makeTestCa();
  provider = await startPretendAnthropic(ca, realKey);
  const files = { [keyFile]: JSON.stringify({ anthropic: { type: 'api', key: realKey } }) };
  ground = makeAgentGround(ca, 'anthropic', provider, { files });
  run = await ground.run('opencode run hi');
}, 180_000);

afterAll(async () => {
  await provider.close();
  ground.remove();
});

describe('opencode in a sandbox, with the key that opencode keeps in the home of the user', () => {
  test('completes a turn with the provider that has a key, though its own servers are refused', () => {
    expect(run.stdout).toContain(pretendAnswer);
    expect(run.code, run.stderr).toBe(0);
    const served = run.journal.filter(({ verdict }) => verdict === 'allowed').map(({ host }) => host);
    expect(new Set(served)).toEqual(new Set(['api.anthropic.com']));
  });

  test('reaches Anthropic with the real key, and never shows its placeholder', () => {
    expect(provider.seen.some(({ url }) => url.startsWith('/v1/messages'))).toBe(true);
    expect(provider.faults).toEqual([]);
  });

  test('holds a placeholder, and the key is nowhere in its sandbox', () => {
    const stub = [...run.files].find(([path]) => path.endsWith(keyFile));
    expect(stub?.[1]).toContain('sallyport-placeholder');
    expect(run.environment).not.toContain(realKey);
    expect([...run.files].filter(([, text]) => text.includes(realKey)).map(([path]) => path)).toEqual([]);
  });
});
