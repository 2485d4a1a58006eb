import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { modelRequest } from '../../../../../src/stages/authorize/limits/budget-request.ts';
import { canonicalOf } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const policy = handMadePolicy({
  allow: [{ host: 'llm.example', conversation: true }, { host: 'api.example' }],
});

interface Asked {
  readonly method?: string;
  readonly fields?: readonly [string, string][];
  readonly credential?: boolean;
  readonly kind?: 'http' | 'websocket' | 'connect' | 'tunnel' | 'lookup';
  readonly host?: string;
}

function kindOf(path: string, asked: Asked = {}): string | null {
  const { method = 'POST', kind = 'http', host = 'llm.example', credential = true, fields = [] } = asked;
  const canonical = canonicalOf(method, `https://${host}${path}`, kind);
  return modelRequest(policy, canonical, HeaderList.from(fields), credential)?.kind ?? null;
}

const google = '/v1beta/models/gemini-2.5-pro';

describe('a request that goes to a model is known by its path', () => {
  test.each([
    '/v1/messages',
    '/v1/messages/',
    '/V1/Messages',
    '/v1%2Fmessages',
    '/v1/messages;x=1',
    '/v1/messages?beta=true',
    '/anthropic/v1/messages',
    '/v1/chat/completions',
    '/openai/deployments/any/chat/completions?api-version=1',
    '/v1/completions',
    '/v1/responses',
    '/v1/responses/compact',
    '/backend-api/codex/responses',
    '/v1/embeddings',
    '/v1beta/interactions',
    `${google}:generateContent`,
    `${google}:streamGenerateContent?alt=sse&key=1`,
    '/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict',
    '/v1internal:streamGenerateContent?alt=sse',
    `${google}:batchEmbedContents`,
    '/model/anthropic.claude/invoke-with-response-stream',
    '/api/chat',
    '/completion',
    '/api/organizations/o/chat_conversations/c/completion',
    '/v1/models/maker/model/predictions',
  ])('%s', (path) => {
    expect(kindOf(path, { credential: false })).toBe('answer');
  });

  test('over a WebSocket, and where another method is meant than is said', () => {
    expect(kindOf('/v1/responses', { method: 'GET', kind: 'websocket' })).toBe('answer');
    expect(kindOf('/v1/realtime', { method: 'GET', kind: 'websocket' })).toBe('answer');
    expect(kindOf('/v1/messages', { method: 'GET', fields: [['X-HTTP-Method-Override', 'post']] })).toBe('answer');
    expect(kindOf('/v1/messages', { method: 'PUT' })).toBe('answer');
  });

  test('what nobody knows counts when a credential of ours goes with it', () => {
    expect(kindOf('/v1/images/generations')).toBe('answer');
    expect(kindOf('/models/maker/model')).toBe('answer');
    expect(kindOf('/api/event_logging/batch', { credential: false })).toBeNull();
  });

  test('what is fetched later was asked for before', () => {
    expect(kindOf('/v1/responses/resp_1', { method: 'GET' })).toBe('retrieval');
    expect(kindOf('/v1/threads/t/runs/run_1', { method: 'GET' })).toBe('retrieval');
    expect(kindOf('/v1beta/interactions/v1_1', { method: 'GET' })).toBe('retrieval');
    expect(kindOf('/v1beta/interactions/v1_1/cancel')).toBe('retrieval');
    expect(kindOf('/v1/responses/resp_1/cancel')).toBe('retrieval');
    expect(kindOf('/v1/chat/deferred-completion/1', { method: 'GET' })).toBe('retrieval');
  });
});

describe('what does not say what it costs', () => {
  test.each([
    '/v1/messages/batches',
    '/v1/batches',
    '/v1/batches/',
    '/v1/batch/jobs',
    '/v1/embed-jobs',
    '/v1/fine_tuning/jobs',
    '/v1/videos',
    '/v1/videos/video_1/remix',
    '/v1/videos/generations',
    '/v1/videos/edits/',
    `${google}:batchGenerateContent`,
    `${google}:asyncBatchEmbedContent`,
    `${google}:predictLongRunning`,
    `${google}:generateContent?fields=candidates`,
    `${google}:generateContent?%24fields=candidates`,
    `${google}:generateContent?a=1&alt=proto`,
    `${google}:generateContent?$alt=media`,
    `${google}:generateContent?callback=f`,
    `${google}:generateContent?a=1;fields=candidates`,
  ])('%s', (path) => {
    expect(kindOf(path)).toBe('unseen');
  });

  test('a field mask in a field', () => {
    expect(kindOf(`${google}:generateContent`, { fields: [['X-Goog-FieldMask', 'candidates']] })).toBe('unseen');
  });
});

describe('what is not a model’s', () => {
  test.each([
    '/v1/messages/count_tokens',
    `${google}:countTokens`,
    '/v1/files',
    '/v1/models',
    '/v1/oauth/token',
    '/v1internal:loadCodeAssist',
  ])('POST %s costs nothing', (path) => {
    expect(kindOf(path)).toBeNull();
  });

  test('reading, tunnels, lookups, and other hosts', () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) expect(kindOf('/v1/messages', { method })).toBeNull();
    for (const kind of ['connect', 'tunnel', 'lookup'] as const) expect(kindOf('/v1/messages', { kind })).toBeNull();
    expect(kindOf('/v1/messages', { host: 'api.example' })).toBeNull();
    expect(kindOf('/v1/messages', { host: 'elsewhere.example' })).toBeNull();
  });
});
