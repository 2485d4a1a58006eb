import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

// Guards: threats.md T84. What no agent needs for inference, files, models and embeddings, with what stands beside it.
const places = [
  ['anthropic', 'api.anthropic.com', '/v1/messages', ['/v1/skills', '/v1/mcp_servers', '/v1/not_there_yet', '/v1']],
  [
    'openai',
    'api.openai.com',
    '/v1/responses',
    ['/v1/fine_tuning/jobs', '/v1/evals', '/v1/containers', '/v1/webhooks'],
  ],
  ['chatgpt', 'chatgpt.com', '/backend-api/codex/responses', ['/backend-api/codex/alpha/x', '/backend-api/me']],
  [
    'google',
    'generativelanguage.googleapis.com',
    '/v1beta/models/g:generateContent',
    ['/v1beta/corpora', '/v1beta/tunedModels/t/x', '/google.ai.generativelanguage.v1.RetrieverService/x'],
  ],
  ['gemini', 'cloudcode-pa.googleapis.com', '/v1internal:generateContent', ['/v1internal:anything', '/v1internal/x']],
  [
    'vertex',
    'aiplatform.googleapis.com',
    '/v1/projects/p/locations/l/publishers/google/models/g:generateContent',
    ['/v1/projects/p/locations/l/datasets', '/v1/projects/p/locations/l/endpoints/e:deployModel'],
  ],
  ['gitlab', 'gitlab.com', '/api/v4/projects/1/issues', ['/api/graphql', '/api/v4/admin/clusters', '/api/v4/license']],
  ['huggingface', 'huggingface.co', '/api/models', ['/api/organizations/o/settings', '/api/anything']],
  ['huggingface', 'router.huggingface.co', '/v1/chat/completions', ['/anything', '/v1/anything']],
  ['mistral', 'api.mistral.ai', '/v1/chat/completions', ['/v1/fine_tuning/jobs', '/v1/libraries']],
  ['groq', 'api.groq.com', '/openai/v1/chat/completions', ['/openai/v1/anything']],
  ['xai', 'api.x.ai', '/v1/chat/completions', ['/v1/anything', '/xai_api.Management/x', '/v2/anything']],
  ['openrouter', 'openrouter.ai', '/api/v1/chat/completions', ['/api/v1/guardrails', '/api/v1/anything']],
  ['deepseek', 'api.deepseek.com', '/chat/completions', ['/v1/anything', '/beta/anything', '/anthropic/anything']],
  ['perplexity', 'api.perplexity.ai', '/chat/completions', ['/v1/anything', '/async/anything']],
  ['tavily', 'api.tavily.com', '/search', ['/anything']],
  ['cohere', 'api.cohere.com', '/v2/chat', ['/v1/finetuning/finetuned-models', '/v2/anything']],
  ['copilot', 'api.githubcopilot.com', '/chat/completions', ['/anything', '/models/x/policy']],
] as const;

let ground: AttackGround;
const keyOf = (name: string): string => `the-real-key-of-${name}`;

beforeAll(async () => {
  const presets = ['anthropic', 'openai', 'google', 'gitlab', 'huggingface', 'mistral', 'groq', 'xai', 'openrouter'];
  presets.push('deepseek', 'perplexity', 'tavily', 'cohere', 'copilot');
  ground = await openAttackGround({
    names: [...places.map(([, host]) => host), 'mine.example'],
    allow: [...presets.map((preset) => ({ preset })), { host: 'mine.example' }],
    credentials: {
      mine: { hosts: 'mine.example', paths: ['/v1/**'], inject: { bearer: true } },
      mistral: { add_paths: ['/v1/libraries/**'] },
    },
  });
  for (const name of new Set([...places.map(([one]) => one), 'mine'])) {
    await ground.gateway.setSecret(name, keyOf(name));
  }
});

afterAll(() => ground.stop());

/** Whether the key went along. It always arrives. */
async function carries(name: string, host: string, path: string): Promise<boolean> {
  ground.upstream.forget();
  const request = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  const answer = await sendTunnelled(ground.gateway, host, request);
  expect([answer.code, answer.statuses, ground.upstream.requests.length]).toEqual([null, [200], 1]);
  return ground.upstream.bytes.includes(keyOf(name));
}

describe('a path that is not on the list of a preset is asked without its credential', () => {
  test.each(places)('%s on %s', async (name, host, listed, unlisted) => {
    expect(await carries(name, host, listed)).toBe(true);
    for (const path of unlisted) expect([path, await carries(name, host, path)]).toEqual([path, false]);
  });

  test('a credential of the user goes where he wrote, and `add_paths` adds to the list of a preset', async () => {
    expect(await carries('mine', 'mine.example', '/v1/anything')).toBe(true);
    expect(await carries('mistral', 'api.mistral.ai', '/v1/libraries/l/documents')).toBe(true);
    expect(await carries('mistral', 'api.mistral.ai', '/v1/fine_tuning/jobs')).toBe(false);
  });
});
