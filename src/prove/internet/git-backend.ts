// One request served by the real `git http-backend`, as a web server runs it (RFC 3875): the body goes in and the answer
// comes out as they are, at the pace of whoever is slower. Unpacks nothing: git reads gzip itself. Tests use it too.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Writable } from 'node:stream';

export interface Backend {
  readonly ended: Promise<void>;
  kill(): void;
}

interface BackendOptions {
  /** Folder of all repositories. */
  readonly root: string;
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

export function startBackend(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  options: BackendOptions,
): Backend {
  const child = spawn('git', ['http-backend'], { env: variablesOf(request, options) });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  request.pipe(child.stdin);
  // A backend that refuses early does not read all of it; the rest must not hold the connection.
  child.stdin.on('error', () => request.resume());
  child.stderr.resume();
  // Whoever asked is gone: a web server ends the program then.
  response.on('close', () => {
    if (!response.writableEnded) child.kill('SIGKILL');
  });
  answer(child, response);
  return { ended, kill: () => child.kill('SIGKILL') };
}

function variablesOf(request: Http2ServerRequest, { root, path, env }: BackendOptions): Record<string, string> {
  const { headers } = request;
  const variables: Record<string, string> = {
    ...env,
    PATH: process.env.PATH ?? '',
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: path,
    QUERY_STRING: request.url.split('?')[1] ?? '',
    REQUEST_METHOD: request.method,
    REMOTE_ADDR: '127.0.0.1',
  };
  const given = [
    ['CONTENT_TYPE', 'content-type'],
    ['CONTENT_LENGTH', 'content-length'],
    ['HTTP_CONTENT_ENCODING', 'content-encoding'],
    ['GIT_PROTOCOL', 'git-protocol'],
  ] as const;
  for (const [name, field] of given) if (headers[field] !== undefined) variables[name] = String(headers[field]);
  return variables;
}

/** Waits for the head of the answer, then lets the rest flow. */
function answer(child: ChildProcessWithoutNullStreams, response: Http2ServerResponse): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    child.stdout.off('data', onData);
    child.stdout.pause();
    writeHead(head.subarray(0, end).toString('latin1'), response);
    const body = response as unknown as Writable;
    body.write(head.subarray(end + 4));
    child.stdout.pipe(body);
  };
  child.stdout.on('data', onData);
  // Without git there is nothing to wait for, and 'close' follows.
  child.on('error', () => {});
  child.on('close', () => {
    if (!response.headersSent) response.writeHead(500).end('the backend gave no answer\n');
  });
}

function writeHead(text: string, response: Http2ServerResponse): void {
  let status = 200;
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'status') status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(status);
}
