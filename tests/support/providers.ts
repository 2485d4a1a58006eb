// The three model providers as the stories meet them: where each listens, where its key goes, and what its clients send.

export interface Provider {
  readonly preset: 'anthropic' | 'openai' | 'google';
  readonly host: string;
  readonly realKey: string;
  readonly jsonPath: string;
  readonly streamPath: string;
  readonly socketPath: string;
  /** What a client in the sandbox sends. */
  readonly sent: readonly [header: string, value: string];
  /** What the provider must see instead. */
  readonly seen: readonly [header: string, value: string];
}

export const providers: readonly Provider[] = [
  {
    preset: 'anthropic',
    host: 'api.anthropic.com',
    realKey: 'sk-ant-real-0123456789',
    jsonPath: '/v1/messages',
    streamPath: '/v1/messages',
    socketPath: '/v1/messages/live',
    sent: ['x-api-key', 'placeholder'],
    seen: ['x-api-key', 'sk-ant-real-0123456789'],
  },
  {
    preset: 'openai',
    host: 'api.openai.com',
    realKey: 'sk-real-0123456789',
    jsonPath: '/v1/responses',
    streamPath: '/v1/responses',
    socketPath: '/v1/realtime?model=any',
    sent: ['authorization', 'Bearer placeholder'],
    seen: ['authorization', 'Bearer sk-real-0123456789'],
  },
  {
    preset: 'google',
    host: 'generativelanguage.googleapis.com',
    realKey: 'AIza-real-0123456789',
    jsonPath: '/v1beta/models/any:generateContent',
    streamPath: '/v1beta/models/any:streamGenerateContent?alt=sse',
    socketPath: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    sent: ['x-goog-api-key', 'placeholder'],
    seen: ['x-goog-api-key', 'AIza-real-0123456789'],
  },
];
