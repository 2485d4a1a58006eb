// Google's Gemini API as far as its clients need it to complete a turn: content generated whole and as a stream of
// events, and the counting of tokens.
import {
  eventStream,
  jsonAnswer,
  type PretendProvider,
  pretendAnswer,
  startPretendProvider,
} from './pretend-provider.ts';
import type { TestCa } from './test-ca.ts';

/** gemini first asks a small model which of the others is to answer, and wants that as JSON. */
const choice = { reasoning: 'pretend', model_choice: 'flash', complexity_reasoning: 'pretend', complexity_score: 1 };

export function startPretendGemini(ca: TestCa, realKey: string): Promise<PretendProvider> {
  return startPretendProvider(ca, {
    host: 'generativelanguage.googleapis.com',
    keyField: 'x-goog-api-key',
    keyValue: realKey,
    realKey,
    credentialed: /^\/v1(?:alpha|beta)?\//,
    answer(path, body) {
      if (path.endsWith(':streamGenerateContent')) return eventStream([generated(pretendAnswer)], false);
      if (path.endsWith(':generateContent'))
        return jsonAnswer(generated(wantsJson(body) ? JSON.stringify(choice) : pretendAnswer));
      return path.endsWith(':countTokens') ? jsonAnswer({ totalTokens: 7 }) : null;
    },
  });
}

function generated(text: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 9, totalTokenCount: 16 },
    modelVersion: 'pretend',
  };
}

function wantsJson(body: Buffer): boolean {
  const asked = JSON.parse(body.toString()) as { generationConfig?: { responseMimeType?: string } };
  return asked.generationConfig?.responseMimeType === 'application/json';
}
