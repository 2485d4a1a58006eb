// A view of Docker's API for a gateway that must not hold the whole of it: whoever may talk to the Docker socket is root on
// its machine. It answers seven questions about what runs, each asked anew of Docker in its own words and told with the
// fields of docker-shapes.ts alone, and refuses everything else. Nothing of a request is ever passed on.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { DockerApi } from './docker-api.ts';
import { asDockerError } from './docker-error.ts';
import { type DockerPlatform, platformShape } from './docker-shapes.ts';

/** Of containers and networks; a dot or a slash cannot begin one, so that no path leads elsewhere. */
const reference = '[A-Za-z0-9][A-Za-z0-9_.-]{0,127}';
const imageId = '(?:sha256(?::|%3A))?[0-9a-f]{64}';
const query = '(?:\\?[\\x21-\\x7e]*)?';

type ViewRoute = (api: DockerApi, named: string, asked: URLSearchParams) => Promise<unknown>;

/** What is answered, by path. A version in front is taken and means nothing: Docker is asked in its own. */
const questions: readonly (readonly [RegExp, ViewRoute])[] = [
  [path('/version'), (api) => api.version()],
  [path('/containers/json'), (api) => api.listContainers()],
  [path(`/containers/(${reference})/json`), (api, named) => api.inspectContainer(named)],
  [
    path(`/images/(${imageId})/json`),
    (api, named, asked) => api.inspectImage(decodeURIComponent(named), platformOf(asked)),
  ],
  [path(`/networks/(${reference})`), (api, named) => api.inspectNetwork(named)],
];
const ping = path('/_ping');
const events = path('/events');

const refusal =
  'this is a view of Docker that answers GET /_ping, /version, /containers/json, /containers/{id}/json, /images/{id}/json, /networks/{id} and /events, and nothing else';

export function createDockerView(api: DockerApi, onFault: (error: unknown) => void): Server {
  const server = createServer(
    { maxHeaderSize: 16_384, headersTimeout: 5_000, requestTimeout: 5_000 },
    (request, response) => {
      // What it may have sent is not read; the connection ends with the answer.
      response.setHeader('connection', 'close');
      serve(api, request, response).catch((error: unknown) => {
        const known = asDockerError(error, api.socket);
        // Whatever ends is asked about once more: that it is gone is an answer.
        if (known.fault !== 'unknown') onFault(error);
        if (response.headersSent) response.destroy();
        else say(response, known.fault === 'unknown' ? 404 : 502, { message: known.message });
      });
    },
  );
  server.maxConnections = 64;
  return server;
}

async function serve(api: DockerApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url ?? '';
  if (request.method !== 'GET') return say(response, 403, { message: refusal });
  if (ping.test(url)) {
    await api.version();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end('OK');
    return;
  }
  if (events.test(url)) return stream(api, url, response);
  for (const [pattern, answer] of questions) {
    const match = pattern.exec(url);
    if (match !== null)
      return say(response, 200, await answer(api, match[1] ?? '', new URLSearchParams(url.split('?')[1])));
  }
  say(response, 403, { message: refusal });
}

function platformOf(asked: URLSearchParams): DockerPlatform | null {
  const text = asked.get('platform');
  return text === null ? null : platformShape.parse(JSON.parse(text));
}

/** The events the witness wants, whatever the filters of the request say. It ends when Docker's own stream does. */
async function stream(api: DockerApi, url: string, response: ServerResponse): Promise<void> {
  const since = /[?&]since=(\d{1,12})(?:&|$)/.exec(url)?.[1];
  const opened = await api.openEvents(since === undefined ? Math.floor(Date.now() / 1000) : Number(since), {
    event: (event) => {
      // A reader that does not read is cut off: it must not be left to believe that nothing happened.
      if (!response.write(`${JSON.stringify(event)}\n`) && response.writableLength > 1024 * 1024) response.destroy();
    },
    ended: () => response.destroy(),
  });
  // A client that has left was already handled.
  if (response.destroyed) return opened.close();
  response.once('close', () => opened.close());
  response.setHeader('content-type', 'application/json');
  response.flushHeaders();
}

function say(response: ServerResponse, status: number, body: unknown): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function path(pattern: string): RegExp {
  return new RegExp(`^(?:/v1\\.\\d{1,3})?${pattern}${query}$`);
}
