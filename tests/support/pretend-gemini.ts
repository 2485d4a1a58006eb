// Google's Gemini API as far as its clients need it to complete a turn: content generated whole and as a stream of
// events, and the counting of tokens.
import type { PretendLogin } from './pretend-login.ts';
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

/** What is behind the login of Gemini CLI: the same models, in an envelope. */
export function startPretendCodeAssist(
  ca: TestCa,
  login: PretendLogin,
  hold: (path: string) => Promise<void>,
): Promise<PretendProvider> {
  return startPretendProvider(ca, {
    host: 'cloudcode-pa.googleapis.com',
    keyField: 'authorization',
    keyValue: () => `Bearer ${login.current().access}`,
    realKey: login.mark,
    credentialed: /^\/v1internal:/,
    hold,
    answer(path, body) {
      const enveloped = (text: string) => ({ response: generated(text), traceId: 'pretend' });
      if (path.endsWith(':loadCodeAssist')) return jsonAnswer(enrolled);
      if (path.endsWith(':streamGenerateContent')) return eventStream([enveloped(pretendAnswer)], false);
      if (path.endsWith(':generateContent'))
        return jsonAnswer(enveloped(wantsJson(body) ? JSON.stringify(choice) : pretendAnswer));
      return path.endsWith(':countTokens') ? jsonAnswer({ totalTokens: 7 }) : null;
    },
  });
}

const enrolled = {
  currentTier: { id: 'free-tier', name: 'pretend' },
  allowedTiers: [{ id: 'free-tier', isDefault: true }],
  cloudaicompanionProject: 'pretend',
  gcpManaged: false,
};

function generated(text: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 9, totalTokenCount: 16 },
    modelVersion: 'pretend',
  };
}

function wantsJson(body: Buffer): boolean {
  type Asked = { generationConfig?: { responseMimeType?: string } };
  const asked = JSON.parse(body.toString()) as Asked & { request?: Asked };
  return (asked.request ?? asked).generationConfig?.responseMimeType === 'application/json';
}
