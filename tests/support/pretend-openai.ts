// OpenAI's API as far as its clients need it to complete a turn: the responses API over WebSocket, which codex tries
// first, and over POST with server-sent events.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { PretendLogin } from './pretend-login.ts';
import {
  eventStream,
  jsonAnswer,
  type PretendProvider,
  type ProviderSketch,
  pretendAnswer,
  startPretendProvider,
} from './pretend-provider.ts';
import type { TestCa } from './test-ca.ts';

export interface PretendOpenai extends PretendProvider {
  /** Turns that were answered over a WebSocket. */
  readonly socketTurns: () => number;
}

export interface OpenaiOptions {
  /** Default true. False: an upgrade is declined, in the way that makes codex fall back at once. */
  readonly sockets?: boolean;
}

export async function startPretendOpenai(
  ca: TestCa,
  realKey: string,
  { sockets = true }: OpenaiOptions = {},
): Promise<PretendOpenai> {
  return startResponses(ca, sockets, {
    host: 'api.openai.com',
    keyField: 'authorization',
    keyValue: `Bearer ${realKey}`,
    realKey,
    credentialed: /^\/v1\//,
    answer(path) {
      if (path === '/v1/models') return jsonAnswer({ object: 'list', data: [] });
      return path === '/v1/responses' ? eventStream(turn('resp_post'), true) : null;
    },
  });
}

/** What is behind a ChatGPT login: the same, elsewhere, and for the account of the login alone. */
export function startPretendChatgpt(
  ca: TestCa,
  login: PretendLogin,
  hold: (path: string) => Promise<void>,
): Promise<PretendOpenai> {
  return startResponses(ca, true, {
    host: 'chatgpt.com',
    keyField: 'authorization',
    keyValue: () => `Bearer ${login.current().access}`,
    realKey: login.mark,
    credentialed: /^\/backend-api\/(?:codex\/(?:responses|models)|wham\/)/,
    check: (headers) =>
      headers['chatgpt-account-id'] === login.account ? null : 'it is not for the account of the login',
    hold,
    answer(path) {
      if (path === '/backend-api/codex/models') return jsonAnswer({ models: [] });
      return path === '/backend-api/codex/responses' ? eventStream(turn('resp_post'), true) : null;
    },
  });
}

async function startResponses(ca: TestCa, sockets: boolean, sketch: ProviderSketch): Promise<PretendOpenai> {
  let socketTurns = 0;
  const provider = await startPretendProvider(ca, {
    ...sketch,
    serve(server, judge) {
      const endpoint = new WebSocketServer({ noServer: true });
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        const correct = judge(request.url ?? '', request.headers);
        if (!sockets || !correct) {
          socket.end('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n');
          return;
        }
        endpoint.handleUpgrade(request, socket, head, (webSocket) => {
          webSocket.on('message', async (data) => {
            const asked = JSON.parse(data.toString()) as { type: string; generate?: boolean };
            if (asked.type !== 'response.create') return;
            if (asked.generate !== false) {
              socketTurns++;
              await sketch.hold?.(request.url ?? '');
            }
            send(webSocket, turn(`resp_socket_${socketTurns}`, asked.generate !== false));
          });
        });
      });
    },
  });
  return { ...provider, socketTurns: () => socketTurns };
}

function send(socket: WebSocket, events: readonly object[]): void {
  for (const event of events) socket.send(JSON.stringify(event));
}

/** The events of one answer. `generate` false: a client that only warms the connection up. */
function turn(id: string, generate = true): object[] {
  const part = { type: 'output_text', text: pretendAnswer, annotations: [] };
  const item = { id: 'msg_pretend', type: 'message', status: 'completed', role: 'assistant', content: [part] };
  const usage = {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 16,
  };
  const response = { id, object: 'response', created_at: 1, model: 'pretend', output: [] };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...(generate
      ? [
          {
            type: 'response.output_item.added',
            output_index: 0,
            item: { ...item, status: 'in_progress', content: [] },
          },
          { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
          { type: 'response.output_text.delta', ...place, delta: pretendAnswer },
          { type: 'response.output_text.done', ...place, text: pretendAnswer },
          { type: 'response.content_part.done', ...place, part },
          { type: 'response.output_item.done', output_index: 0, item },
        ]
      : []),
    {
      type: 'response.completed',
      response: { ...response, status: 'completed', output: generate ? [item] : [], usage },
    },
  ];
}
