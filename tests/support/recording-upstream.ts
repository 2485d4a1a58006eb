// The far side as an attacker would like it: a TLS server that reads leniently, keeps every byte it is sent and where it
// thinks each request ends, and answers with the bytes the test scripts. What it never saw, it was never sent.
import type { Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { listenOnLoopback } from '../../src/prove/internet/listen-on-loopback.ts';

export interface RecordedRequest {
  readonly head: string;
  readonly body: string;
  /** Which connection it came on; never the number of another. */
  readonly connection: number;
}

export interface RecordingUpstream {
  readonly address: string;
  /** TLS handshakes that were completed since `forget`. */
  readonly connections: number;
  /** Every byte of every connection, as Latin-1. */
  readonly bytes: string;
  /** What was complete in the eyes of a lenient server. */
  readonly requests: readonly RecordedRequest[];
  /** Answers with these bytes from now on. */
  answerWith(answer: ScriptedAnswer): void;
  forget(): void;
  close(): Promise<void>;
}

export type ScriptedAnswer = (request: RecordedRequest, socket: Socket) => string | null;

export const plainAnswer: ScriptedAnswer = () => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

export async function startRecordingUpstream(
  tls: TlsOptions,
  first: ScriptedAnswer = plainAnswer,
): Promise<RecordingUpstream> {
  let answer = first;
  let connections = 0;
  let number = 0;
  let bytes = '';
  let requests: RecordedRequest[] = [];
  const server = createServer({ ALPNProtocols: ['http/1.1'], ...tls }, (socket) => {
    connections++;
    const connection = ++number;
    let unread = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      bytes += text;
      unread += text;
      for (let end = endOfRequest(unread); end > 0; end = endOfRequest(unread)) {
        const request = { ...split(unread.slice(0, end)), connection };
        unread = unread.slice(end);
        requests.push(request);
        const reply = answer(request, socket);
        if (reply !== null && !socket.destroyed) socket.write(reply, 'latin1');
      }
    });
  });
  server.on('tlsClientError', () => {});
  const { address, close } = await listenOnLoopback(server);
  return {
    address,
    get connections() {
      return connections;
    },
    get bytes() {
      return bytes;
    },
    get requests() {
      return requests;
    },
    answerWith: (next) => {
      answer = next;
    },
    forget: () => {
      connections = 0;
      bytes = '';
      requests = [];
    },
    close,
  };
}

function split(text: string): { head: string; body: string } {
  const at = text.indexOf('\r\n\r\n') + 4;
  return { head: text.slice(0, at), body: text.slice(at) };
}

/** Where a lenient server sees the first request end; 0: not yet. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n') + 4;
  if (head < 4) return 0;
  const fields = text.slice(0, head);
  if (/^transfer-encoding:.*chunked/im.test(fields)) {
    const last = /(?:^|\r\n)0[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text.slice(head));
    return last === null ? 0 : head + last.index + last[0].length;
  }
  const length = /^content-length: *(\d+)/im.exec(fields);
  const end = head + Number(length?.[1] ?? 0);
  return text.length < end ? 0 : end;
}
