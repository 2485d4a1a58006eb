// `POST /internal/join`: a connection that lasts as long as a run. While it is open the run has joined the gateway; when the
// gateway dies, the kernel tells the run by closing it, and the other way round. The body is one line, and its end says that
// the run leaves in order.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import * as z from 'zod';
import { maxBodyBytes } from './admin-body.ts';
import { AdminError } from './admin-error.ts';
import type { AdminPorts, JoinedRun } from './admin-ports.ts';

/** Of runs that wait for the end of this process: only that end closes them. */
const waiting = new WeakSet<Socket>();

export function waitsForTheEnd(socket: Socket): boolean {
  return waiting.has(socket);
}

const digest = z.string().max(64);
const joinRequest = z.strictObject({
  version: z.string().max(64),
  config: z.string().max(4096).nullable(),
  document: digest.nullable(),
  key: z.string().regex(/^[0-9a-f]{32}$/),
  variables: z.record(z.string().max(4096), digest),
  writable: z.array(z.string().max(4096)).max(1000),
  any: z.boolean(),
  probe: z.boolean(),
});

export async function joinLines(
  ports: Pick<AdminPorts, 'join'>,
  request: IncomingMessage,
): Promise<(signal: AbortSignal) => AsyncIterable<object>> {
  const asked = joinRequest.safeParse(await firstLine(request));
  if (!asked.success) throw new AdminError(400, 'admin.bad-request', z.prettifyError(asked.error));
  const joined = await ports.join(asked.data);
  return (signal) => untilItLeaves(joined, request, signal);
}

async function* untilItLeaves(
  { answer, lease }: JoinedRun,
  request: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<object> {
  if (lease === null) {
    yield answer;
    return;
  }
  const gone = new Promise<'gone'>((resolve) => {
    signal.addEventListener('abort', () => resolve('gone'), { once: true });
    if (signal.aborted) resolve('gone');
  });
  const left = new Promise<'left'>((resolve) => {
    request.once('end', () => resolve('left'));
    if (request.readableEnded) resolve('left');
  });
  let how: 'gone' | 'left' = 'gone';
  try {
    yield answer;
    how = await Promise.race([gone, left]);
  } finally {
    if (how === 'left') waiting.add(request.socket);
    if (!lease.end()) waiting.delete(request.socket);
    // It was the last one: whoever leaves hears by the end of this process that everything is written down.
    else if (how === 'left') await gone;
  }
}

function firstLine(request: IncomingMessage): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = '';
    request.setEncoding('utf8');
    const tooShort = (): void =>
      reject(new AdminError(400, 'admin.bad-request', 'the body ended before its first line'));
    request.on('data', (part: string) => {
      text += part;
      const end = text.indexOf('\n');
      if (end < 0 && text.length <= maxBodyBytes * 4) return;
      try {
        resolve(JSON.parse(text.slice(0, end)));
      } catch {
        reject(new AdminError(400, 'admin.bad-json', 'the first line of the body is not valid JSON'));
      }
      text = '';
    });
    request.once('end', tooShort);
    request.once('close', tooShort);
  });
}
