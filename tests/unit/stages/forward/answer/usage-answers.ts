// Answers as the providers of models give them, shortened, with what each of them cost.
import type { TokenUse } from '../../../../../src/path/exchange/answer-meter.ts';

export interface Recorded {
  readonly name: string;
  readonly body: string;
  readonly use: Omit<TokenUse, 'id' | 'follows' | 'isEstimated'>;
}

export function events(list: readonly object[], end = ''): string {
  return (
    list
      .map((event) => {
        const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
        return `${name}data: ${JSON.stringify(event)}\n\n`;
      })
      .join('') + end
  );
}

/** What a model writes to look as if it cost nothing. */
const planted = '{"usage":{"input_tokens":0,"output_tokens":0}}\n\ndata: {"usage":{"output_tokens":0}}\n\n\\" } ]';
const plantedObject = { usage: { input_tokens: 999, output_tokens: 999 }, message: { usage: { input_tokens: 999 } } };

const message = {
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: [
    { type: 'text', text: planted },
    { type: 'tool_use', id: 'toolu_1', name: 'write', input: plantedObject },
  ],
  stop_reason: 'end_turn',
};
const anthropicUsage = {
  input_tokens: 21,
  cache_creation_input_tokens: 188,
  cache_read_input_tokens: 2051,
  cache_creation: { ephemeral_5m_input_tokens: 188, ephemeral_1h_input_tokens: 0 },
  output_tokens: 393,
  service_tier: 'standard',
};
const anthropic = { model: message.model, input: 21, output: 393, cacheRead: 2051, cacheWrite: 188 };

export const anthropicStart = {
  type: 'message_start',
  message: { ...message, content: [], stop_reason: null, usage: { ...anthropicUsage, output_tokens: 2 } },
};
export const anthropicDelta = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
});

const chatChunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4.1-2025-04-14',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const chatUsage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 100, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 10 },
};
const chat = { model: 'gpt-4.1-2025-04-14', input: 20, output: 30, cacheRead: 100, cacheWrite: 0 };
export const chatWithoutUsage = events(
  [chatChunk({ role: 'assistant', content: '' }), chatChunk({ content: 'x'.repeat(400) }), chatChunk({})],
  'data: [DONE]\n\n',
);

export const responsesUsage = {
  input_tokens: 7000,
  input_tokens_details: { cached_tokens: 6000 },
  output_tokens: 900,
  output_tokens_details: { reasoning_tokens: 800 },
  total_tokens: 7900,
};
export const response = (more: object) => ({
  id: 'resp_1',
  object: 'response',
  model: 'gpt-5-codex',
  error: null,
  instructions: planted,
  metadata: { usage: 'none' },
  tools: [plantedObject],
  usage: null,
  ...more,
});
const responses = { model: 'gpt-5-codex', input: 1000, output: 900, cacheRead: 6000, cacheWrite: 0 };
const outputItem = { type: 'message', content: [{ type: 'output_text', text: planted }] };
export const responseEvents = [
  { type: 'response.created', response: response({ status: 'in_progress' }) },
  { type: 'response.output_text.delta', item_id: 'msg_1', delta: planted },
  { type: 'response.output_text.done', item_id: 'msg_1', text: planted },
  {
    type: 'response.completed',
    response: response({ status: 'completed', output: [outputItem], usage: responsesUsage }),
  },
];

const generated = (text: string, usageMetadata: object) => ({
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ text }, { functionCall: { name: 'f', args: { usageMetadata: plantedObject } } }],
      },
      index: 0,
    },
  ],
  usageMetadata,
  modelVersion: 'gemini-2.5-pro',
});
const googleUsage = {
  promptTokenCount: 500,
  candidatesTokenCount: 40,
  totalTokenCount: 660,
  cachedContentTokenCount: 200,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 500 }],
  thoughtsTokenCount: 120,
};
const google = { model: 'gemini-2.5-pro', input: 300, output: 160, cacheRead: 200, cacheWrite: 0 };
const googleChunks = [
  generated('Hello', { promptTokenCount: 500, totalTokenCount: 580, thoughtsTokenCount: 80 }),
  generated(planted, googleUsage),
];

const interaction = {
  id: 'v1_1',
  model: 'gemini-2.5-pro',
  status: 'completed',
  outputs: [{ type: 'text', text: planted }],
  usage: {
    total_input_tokens: 500,
    total_cached_tokens: 200,
    total_output_tokens: 100,
    total_thought_tokens: 60,
    total_tokens: 660,
  },
};

export const recorded: readonly Recorded[] = [
  { name: 'Anthropic, whole', body: JSON.stringify({ ...message, usage: anthropicUsage }), use: anthropic },
  {
    name: 'Anthropic, streamed',
    body: events([
      anthropicStart,
      { type: 'ping' },
      anthropicDelta(planted),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 393 } },
      { type: 'message_stop' },
    ]),
    use: anthropic,
  },
  {
    name: 'OpenAI chat, whole, indented',
    body: JSON.stringify(
      { id: 'chatcmpl-1', model: chat.model, choices: [{ message: { content: planted } }], usage: chatUsage },
      null,
      2,
    ),
    use: chat,
  },
  {
    name: 'OpenAI chat, streamed with usage',
    body: events(
      [chatChunk({ content: planted }, { usage: null }), { ...chatChunk({}), choices: [], usage: chatUsage }],
      'data: [DONE]\n\n',
    ),
    use: chat,
  },
  {
    name: 'OpenAI embeddings',
    body: JSON.stringify({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.1, -2e-5] }],
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 8, total_tokens: 8 },
    }),
    use: { model: 'text-embedding-3-small', input: 8, output: 0, cacheRead: 0, cacheWrite: 0 },
  },
  {
    name: 'OpenAI responses, whole',
    body: JSON.stringify(response({ status: 'completed', output: [outputItem], usage: responsesUsage })),
    use: responses,
  },
  { name: 'OpenAI responses, streamed', body: events(responseEvents), use: responses },
  {
    name: 'OpenAI responses, streamed and incomplete, lines ended by CR LF',
    body: events([
      responseEvents[0]!,
      { type: 'response.incomplete', response: response({ status: 'incomplete', usage: responsesUsage }) },
    ]).replaceAll('\n', '\r\n'),
    use: responses,
  },
  { name: 'Google, whole', body: JSON.stringify(generated(planted, googleUsage), null, 1), use: google },
  { name: 'Google, a stream of events', body: events(googleChunks), use: google },
  { name: 'Google, a list of chunks', body: JSON.stringify(googleChunks, null, 1), use: google },
  {
    name: 'Google Code Assist, in an envelope',
    body: events(googleChunks.map((chunk) => ({ response: chunk, traceId: 't' }))),
    use: google,
  },
  { name: 'Google interactions, whole', body: JSON.stringify(interaction), use: google },
  {
    name: 'Google interactions, streamed',
    body: events([
      { event_type: 'interaction.start', interaction: { id: 'v1_1', model: 'gemini-2.5-pro', status: 'in_progress' } },
      { event_type: 'content.delta', delta: { type: 'text', text: planted } },
      { event_type: 'interaction.complete', interaction },
    ]),
    use: google,
  },
  {
    name: 'xAI, whose total alone counts the thoughts',
    body: JSON.stringify({
      model: 'grok-4',
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 },
    }),
    use: { model: 'grok-4', input: 10, output: 105, cacheRead: 0, cacheWrite: 0 },
  },
  {
    name: 'Cohere',
    body: JSON.stringify({
      id: 'c',
      message: { role: 'assistant', content: [{ type: 'text', text: planted }] },
      usage: { billed_units: { input_tokens: 5, output_tokens: 4 }, tokens: { input_tokens: 70, output_tokens: 4 } },
    }),
    use: { model: null, input: 70, output: 4, cacheRead: 0, cacheWrite: 0 },
  },
  {
    name: 'Cohere, with what it bills beside the answer',
    body: JSON.stringify({
      id: 'c',
      text: planted,
      meta: { api_version: { version: '1' }, billed_units: { input_tokens: 5, output_tokens: 4 } },
    }),
    use: { model: null, input: 5, output: 4, cacheRead: 0, cacheWrite: 0 },
  },
];
