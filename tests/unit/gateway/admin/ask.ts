// One raw request to a Unix socket, for tests that need to see status and headers as they are.
import { type OutgoingHttpHeaders, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export function ask(
  socketPath: string,
  method: string,
  path: string,
  body: string | Buffer | null = null,
  headers: OutgoingHttpHeaders = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = String(response.headers['content-type']).startsWith('application/json');
        const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
    });
    outgoing.once('error', reject);
    outgoing.end(body ?? undefined);
  });
}

export function askJson(socketPath: string, method: string, path: string, json: unknown): Promise<Answer> {
  return ask(socketPath, method, path, JSON.stringify(json), { 'content-type': 'application/json' });
}
