// Inject and forward stages that do what a test says, and questions to put through them.
import { type AskPorts, askUpstream, type UpstreamQuestion } from '../../../../src/gateway/questions/ask-upstream.ts';
import type { BodyWriter } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../src/path/exchange/outgoing-request.ts';
import type { Authorized, Forwarded, Injected } from '../../../../src/path/flow.ts';
import { Refusal } from '../../../../src/path/refusal.ts';
import { pushTo } from '../../../support/asked-git-server.ts';

export const type = 'application/x-git-upload-pack-result';
export const question: UpstreamQuestion = {
  operation: 'upload-pack',
  method: 'POST',
  target: '/acme/widgets.git/git-upload-pack',
  headers: [['Git-Protocol', 'version=2']],
  body: Buffer.from('a question'),
  answerType: type,
  maxAnswerBytes: 100,
};

type Script = (flow: Injected) => Promise<void> | void;

/** Stages that do what the test says; the credential is a field that nothing else sets. */
export function scripted(script: Script, timeoutMs = 5_000): AskPorts & { readonly seen: Authorized[] } {
  const seen: Authorized[] = [];
  return {
    seen,
    timeoutMs,
    inject: {
      name: 'inject',
      run: (flow) => {
        seen.push(flow);
        const { headers } = flow.request;
        return { ...flow, outgoing: new OutgoingRequest(flow.canonical.rawPath, headers), injected: 'git' };
      },
    },
    forward: {
      name: 'forward',
      run: async (flow): Promise<Forwarded> => {
        await script(flow);
        return { ...flow, status: 200, upstreamAddress: null };
      },
    },
  };
}

export function respond(flow: Injected, status: number, ...fields: [string, string][]): BodyWriter {
  const headers = HeaderList.from(fields);
  return flow.exchange.respond({ status, reason: '', headers, framing: { kind: 'chunked' } });
}

export const answer =
  (status: number, fields: [string, string][], ...chunks: string[]): Script =>
  (flow) => {
    const writer = respond(flow, status, ...fields);
    for (const chunk of chunks) writer.write(Buffer.from(chunk));
    writer.end(null);
  };

export const asker = (signal: AbortSignal = new AbortController().signal) => ({ ...pushTo('acme/widgets'), signal });

export async function ask(ports: AskPorts, over: Partial<UpstreamQuestion> = {}): Promise<string> {
  let text = '';
  await askUpstream(ports, asker(), { ...question, ...over }, (chunk) => {
    text += chunk;
  });
  return text;
}

export const closed = (): Refusal => new Refusal('upstream.closed', 'gone');
