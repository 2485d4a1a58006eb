import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentGround, type AgentRun, makeAgentGround } from '../support/pretend-agent-run.ts';
import { type PretendOpenai, startPretendOpenai } from '../support/pretend-openai.ts';
import { pretendAnswer } from '../support/pretend-provider.ts';
import { makeTestCa } from '../support/test-ca.ts';

const realKey = 'sk-proj-the-real-key-of-ada-0123456789';
let provider: PretendOpenai;
let ground: AgentGround;
let run: AgentRun;

beforeAll(async () => {
  const ca = makeTestCa();
  provider = await startPretendOpenai(ca, realKey);
  const files = { '.codex/auth.json': JSON.stringify({ auth_mode: 'apikey', OPENAI_API_KEY: realKey }) };
  ground = makeAgentGround(ca, 'openai', provider, { files });
  run = await ground.run('codex exec --skip-git-repo-check hi');
}, 180_000);

afterAll(async () => {
  await provider.close();
  ground.remove();
});

describe('codex in a sandbox, with the key that codex keeps in the home of the user', () => {
  test('completes a turn', () => {
    expect(run.stdout).toContain(pretendAnswer);
    expect(run.code, run.stderr).toBe(0);
  });

  test('talks to OpenAI over a WebSocket, and not over anything else', () => {
    expect(provider.socketTurns()).toBe(1);
    expect(provider.seen.filter(({ method }) => method === 'POST')).toEqual([]);
    expect(run.journal).toContainEqual(
      expect.objectContaining({ host: 'api.openai.com', path: '/v1/responses', status: 101, credential: 'openai' }),
    );
  });

  test('reaches OpenAI with the real key, and never shows its placeholder', () => {
    expect(provider.faults).toEqual([]);
  });

  test('holds a placeholder, and the key is nowhere in its sandbox', () => {
    const stub = [...run.files].find(([path]) => path.endsWith('/.codex/auth.json'));
    expect(stub?.[1]).toContain('sallyport-placeholder');
    expect(run.environment).not.toContain(realKey);
    expect([...run.files].filter(([, text]) => text.includes(realKey)).map(([path]) => path)).toEqual([]);
  });
});

describe('codex where WebSockets are declined', () => {
  test('completes its turn over POST and HTTP/2', async () => {
    const ca = makeTestCa();
    const other = await startPretendOpenai(ca, realKey, { sockets: false });
    const elsewhere = makeAgentGround(ca, 'openai', other, { env: { OPENAI_API_KEY: realKey } });
    try {
      const { code, stdout, stderr } = await elsewhere.run('codex exec --skip-git-repo-check hi');
      expect(stdout).toContain(pretendAnswer);
      expect(code, stderr).toBe(0);
      expect(other.seen).toContainEqual(
        expect.objectContaining({ method: 'POST', url: '/v1/responses', httpVersion: '2.0' }),
      );
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
      elsewhere.remove();
    }
  }, 180_000);
});
