// The command line's end of the admin socket. Before it says anything it makes sure that the socket is in a private
// directory of ours, so that nobody else can sit at the other end and collect secrets.
import { lstatSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { dirname } from 'node:path';
import { checkPrivateDirectory } from '../../kit/files/secure-directory.ts';
import type { JoinAnswer, JoinRequest } from './join.ts';

/** No gateway answers on the socket. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
}

/** The gateway answered with an error: its words, for the person who asked. */
export class AdminRefused extends Error {
  override readonly name = 'AdminRefused';
  readonly status: number;
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** A gateway that was joined, or has said why not. */
export interface Held {
  readonly answer: JoinAnswer;
  /** When the connection is gone, for whatever reason. */
  readonly ended: Promise<void>;
  /** Leaves in order; resolves when a gateway that ends for it has ended. */
  leave(): Promise<void>;
}

export class AdminClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Asks for JSON; `T` is what the contract says is there. A 204 gives undefined. */
  async call<T>(method: 'GET' | 'POST' | 'DELETE', path: string, json?: unknown): Promise<T> {
    const body = json === undefined ? null : JSON.stringify(json);
    const answer = await this.#send(method, path, body, 'application/json');
    const text = await readAll(answer);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async putRaw(path: string, value: string): Promise<void> {
    await readAll(await this.#send('PUT', path, value, 'application/octet-stream'));
  }

  /** The records of a JSON-lines answer, as they come. Aborted, it throws whatever comes of that. */
  async *lines(path: string, signal?: AbortSignal): AsyncGenerator<Record<string, unknown>> {
    const answer = await this.#send('GET', path, null, '', signal);
    answer.setEncoding('utf8');
    let rest = '';
    try {
      for await (const text of answer as AsyncIterable<string>) {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield JSON.parse(line) as Record<string, unknown>;
      }
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Joins the gateway: the connection lasts until either end goes, and each hears of the other's end by it. */
  async join(asked: JoinRequest): Promise<Held> {
    const { request, response } = await this.#open('POST', '/internal/join', `${JSON.stringify(asked)}\n`);
    let answered = false;
    let text = '';
    const ended = new Promise<void>((resolve) => response.once('close', () => resolve()));
    const answer = await new Promise<JoinAnswer>((resolve, reject) => {
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (answered || !text.includes('\n')) return;
        answered = true;
        resolve(JSON.parse(text.slice(0, text.indexOf('\n'))) as JoinAnswer);
      });
      // An error is followed by the end of the answer.
      response.on('error', () => {});
      void ended.then(() => reject(this.#explain(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))));
    });
    request.on('error', () => {});
    const leave = (): Promise<void> => {
      request.end();
      return ended;
    };
    return { answer, ended, leave };
  }

  async #send(
    method: string,
    path: string,
    body: string | null,
    contentType: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const headers = body === null ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
    const { request, answer } = await this.#request(method, path, headers, signal);
    request.end(body ?? undefined);
    return answer;
  }

  async #open(
    method: string,
    path: string,
    begin: string,
  ): Promise<{ request: ClientRequest; response: IncomingMessage }> {
    const { request, answer } = await this.#request(method, path, { 'transfer-encoding': 'chunked' });
    request.write(begin);
    return { request, response: await answer };
  }

  async #request(
    method: string,
    path: string,
    headers: Readonly<Record<string, string | number>>,
    signal?: AbortSignal,
  ): Promise<{ request: ClientRequest; answer: Promise<IncomingMessage> }> {
    this.#checkPlace();
    // Loaded when somebody asks: most commands never do, and it brings half of Node with it.
    const { request: httpRequest } = await import('node:http');
    const request = httpRequest({
      socketPath: this.#socketPath,
      method,
      path,
      headers,
      agent: false,
      ...(signal !== undefined && { signal }),
    });
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('error', (error) => reject(this.#explain(error)));
      request.once('response', (response) => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status < 300) resolve(response);
        else readAll(response).then((text) => reject(asRefusal(status, text)), reject);
      });
    });
    return { request, answer };
  }

  #checkPlace(): void {
    let owner: number;
    try {
      const found = lstatSync(this.#socketPath);
      if (!found.isSocket()) throw new Error(`${this.#socketPath} is not a socket. Look at what it is.`);
      owner = found.uid;
    } catch (error) {
      throw this.#explain(error);
    }
    checkPrivateDirectory(dirname(this.#socketPath));
    if (owner !== process.geteuid?.()) {
      throw new Error(`${this.#socketPath} belongs to user ${owner}, not to you: nothing was sent to it.`);
    }
  }

  #explain(error: unknown): Error {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') {
      return new GatewayUnreachable(`the gateway is not running (nobody listens on ${this.#socketPath})`);
    }
    if (code === 'EACCES') {
      return new GatewayUnreachable(`you may not use ${this.#socketPath}: it belongs to another user`);
    }
    if (code === 'ECONNRESET' || code === 'EPIPE') {
      return new GatewayUnreachable('the gateway closed the connection before its answer was complete');
    }
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function asRefusal(status: number, text: string): AdminRefused {
  try {
    const { error, code, hint } = JSON.parse(text) as Record<string, unknown>;
    if (typeof error === 'string') return new AdminRefused(status, String(code), error, String(hint ?? ''));
  } catch {
    // Not one of our answers: said below.
  }
  return new AdminRefused(
    status,
    'admin.unreadable',
    `the gateway answered ${status} in a form this version does not know`,
    '',
  );
}
