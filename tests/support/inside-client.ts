// Asks the door about itself, as a client in a sandbox would through a proxy: http://sallyport.internal/ over plain HTTP/1.1.
// Also a person who looks on, so that there is somebody to ask.
import { request } from 'node:http';
import type { Gateway } from '../../src/gateway/contract.ts';
import type { Door } from './tunnel-client.ts';

export interface InsideAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface InsideAsk {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
  /** Default `http://sallyport.internal` before the path. */
  readonly origin?: string;
}

export function askInside(door: Door, what: string, asked: InsideAsk = {}): Promise<InsideAnswer> {
  const [method, path] = what.split(' ') as [string, string];
  const { origin = 'http://sallyport.internal', body } = asked;
  const sent = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const place = 'socketPath' in door ? { socketPath: door.socketPath } : { host: door.host, port: door.port };
  const headers = { host: 'sallyport.internal', 'content-length': String(Buffer.byteLength(sent)), ...asked.headers };
  return new Promise((resolve, reject) => {
    const sending = request({ ...place, method, path: `${origin}${path}`, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const json = <T>(): T => JSON.parse(text) as T;
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json });
      });
    });
    sending.on('error', reject);
    sending.end(sent);
  });
}

/** Somebody watches until the returned function is called. */
export function lookOn({ admin }: Gateway): () => void {
  const leaving = new AbortController();
  const events = admin.questions.watch(leaving.signal)[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    while ((await events.next()).done !== true);
  };
  void read();
  return () => leaving.abort();
}
