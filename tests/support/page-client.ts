// A client of the dashboard over a real socket: comes in by an address, keeps the cookie, sends what a browser would
// send, or whatever an attack wants it to send. Reads the stream of events.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { PageState } from '../../src/gateway/dashboard/shapes.ts';
import { eventually } from './eventually.ts';

export interface PageReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  json<T = Record<string, unknown>>(): T;
}

export interface PageRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** One request, just as it is given; `headers` win over what belongs to it. */
export function askPage(origin: string, path: string, asked: PageRequest = {}): Promise<PageReply> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      path,
      method: asked.method ?? 'GET',
      agent: false,
      headers: Object.fromEntries(Object.entries(asked.headers ?? {}).filter(([, value]) => value !== undefined)),
    });
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body, json: <T>() => JSON.parse(body) as T });
      });
    });
    request.end(asked.body);
  });
}

export interface PageEvent {
  readonly name: string;
  readonly data: unknown;
}

export class PageClient {
  readonly origin: string;
  readonly cookie: string;
  /** The word that everything below /api/ needs. */
  readonly word: string;

  private constructor(origin: string, cookie: string, word: string) {
    this.origin = origin;
    this.cookie = cookie;
    this.word = word;
  }

  /** By an address with a token. Throws when it is not let in. */
  static async enter(address: string): Promise<PageClient> {
    const { origin, pathname, search } = new URL(address);
    const reply = await askPage(origin, `${pathname}${search}`);
    const set = reply.headers['set-cookie']?.[0];
    if (reply.status !== 303 || set === undefined) throw new Error(`not let in: ${reply.status} ${reply.body}`);
    const word = /^\/#visit=([\w-]{43})$/.exec(reply.headers.location ?? '')?.[1];
    if (word === undefined) throw new Error(`let in without a word: ${reply.headers.location}`);
    return new PageClient(origin, set.split(';')[0]!, word);
  }

  get(path: string, headers: PageRequest['headers'] = {}): Promise<PageReply> {
    return askPage(this.origin, path, { headers: { cookie: this.cookie, 'x-sallyport-csrf': this.word, ...headers } });
  }

  async state(): Promise<PageState> {
    return (await this.get('/api/state')).json<PageState>();
  }

  async post(path: string, body: unknown = {}, headers: PageRequest['headers'] = {}): Promise<PageReply> {
    const usual = {
      cookie: this.cookie,
      'content-type': 'application/json',
      'x-sallyport-csrf': this.word,
      origin: this.origin,
      'sec-fetch-site': 'same-origin',
    };
    return askPage(this.origin, path, {
      method: 'POST',
      headers: { ...usual, ...headers },
      body: JSON.stringify(body),
    });
  }

  /** The stream, open; what has come of it so far is in `events`. */
  async listen(): Promise<PageListener> {
    const { hostname, port } = new URL(this.origin);
    const request = httpRequest({
      host: hostname,
      port,
      path: `/api/events?word=${this.word}`,
      agent: false,
      headers: { cookie: this.cookie },
    });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.once('error', reject);
      request.end();
    });
    return new PageListener(response, () => request.destroy());
  }
}

export class PageListener {
  readonly status: number;
  readonly events: PageEvent[] = [];
  readonly close: () => void;
  isOver = false;
  #rest = '';

  constructor(response: IncomingMessage, close: () => void) {
    this.status = response.statusCode ?? 0;
    this.close = close;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#read(text));
    const over = (): void => {
      this.isOver = true;
    };
    response.once('close', over);
    response.on('error', over);
  }

  /** The newest value of one part that satisfies. */
  until<T>(name: string, fits: (value: T) => boolean): Promise<T> {
    const find = () => this.events.findLast((event) => event.name === name && fits(event.data as T));
    return eventually(find, `an event ${name}`).then(({ data }) => data as T);
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(block);
      if (match !== null) this.events.push({ name: match[1]!, data: JSON.parse(match[2]!) });
    }
  }
}
