import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentGround, type AgentRun, makeAgentGround } from '../support/pretend-agent-run.ts';
import { startPretendGemini } from '../support/pretend-gemini.ts';
import { type PretendProvider, pretendAnswer } from '../support/pretend-provider.ts';
import { makeTestCa } from '../support/test-ca.ts';

const realKey = 'AIza-the-real-key-of-ada-0123456789abcdef';
let provider: PretendProvider;
let ground: AgentGround;
let run: AgentRun;

beforeAll(async () => {
  const ca = makeTestCa();
  provider = await startPretendGemini(ca, realKey);
  ground = makeAgentGround(ca, 'google', provider, { files: { '.gemini/.env': `GEMINI_API_KEY="${realKey}"\n` } });
  // The folder is trusted by a stub: no --skip-trust.
  run = await ground.run('gemini -p hi');
}, 180_000);

afterAll(async () => {
  await provider.close();
  ground.remove();
});

describe('gemini in a sandbox, with the key that gemini keeps in the home of the user', () => {
  test('completes a turn', () => {
    expect(run.stdout).toContain(pretendAnswer);
    expect(run.code, run.stderr).toBe(0);
  });

  test('reaches Google with the real key, and never shows its placeholder', () => {
    expect(provider.seen.some(({ url }) => url.includes(':streamGenerateContent'))).toBe(true);
    expect(provider.faults).toEqual([]);
  });

  test('holds a placeholder, and the key is nowhere in its sandbox', () => {
    expect(run.environment).toMatch(/^GEMINI_API_KEY=AIzasallyport-placeholder/m);
    expect(run.environment).not.toContain(realKey);
    expect(run.files.size).toBeGreaterThan(0);
    expect([...run.files].filter(([, text]) => text.includes(realKey)).map(([path]) => path)).toEqual([]);
  });
});
