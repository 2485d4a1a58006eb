// Anthropic's API as far as its clients need it to complete a turn: messages, streamed and whole, and the counting of
// tokens. Everything else is 404, settings and telemetry among it.
import type { Answer } from './fake-upstream.ts';
import type { PretendLogin } from './pretend-login.ts';
import {
  eventStream,
  jsonAnswer,
  type PretendProvider,
  pretendAnswer,
  startPretendProvider,
} from './pretend-provider.ts';
import type { TestCa } from './test-ca.ts';

export function startPretendAnthropic(ca: TestCa, realKey: string): Promise<PretendProvider> {
  return startPretendProvider(ca, { ...api, keyField: 'x-api-key', keyValue: realKey, realKey });
}

/** For the login of Claude Code, whose tokens go out in another form. `hold`: see `ProviderSketch`. */
export function startPretendClaude(
  ca: TestCa,
  login: PretendLogin,
  hold: (path: string) => Promise<void>,
): Promise<PretendProvider> {
  return startPretendProvider(ca, {
    ...api,
    keyField: 'authorization',
    keyValue: () => `Bearer ${login.current().access}`,
    realKey: login.mark,
    check(headers) {
      if (headers['x-api-key'] !== undefined) return 'it has a key beside the login';
      const beta = String(headers['anthropic-beta'] ?? '').split(/\s*,\s*/);
      return beta.filter((member) => member === 'oauth-2025-04-20').length === 1
        ? null
        : 'it does not say that it is a login';
    },
    hold,
  });
}

const api = {
  host: 'api.anthropic.com',
  credentialed: /^\/v1\//,
  answer(path: string, body: Buffer): Answer | null {
    if (path === '/v1/messages/count_tokens') return jsonAnswer({ input_tokens: 7 });
    return path === '/v1/messages' ? answerMessages(body) : null;
  },
};

function answerMessages(body: Buffer): Answer {
  const asked = JSON.parse(body.toString()) as { model: string; stream?: boolean };
  const message = {
    id: 'msg_pretend',
    type: 'message',
    role: 'assistant',
    model: asked.model,
    content: [{ type: 'text', text: pretendAnswer }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 9 },
  };
  if (asked.stream !== true) return jsonAnswer(message);
  return eventStream(
    [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: pretendAnswer } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ],
    true,
  );
}
