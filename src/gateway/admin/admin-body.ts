// Reads the body of an admin request: bounded, whole, decoded strictly. Never keeps or logs what it read.
import type { IncomingMessage } from 'node:http';
import { AdminError } from './admin-error.ts';

export const maxBodyBytes = 64 * 1024;

const maxDrainBytes = 1024 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body as text. Too large, encoded or not UTF-8: an `AdminError`. */
export async function readText(request: IncomingMessage, maxBytes = maxBodyBytes): Promise<string> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new AdminError(
      415,
      'admin.media-type',
      'an encoded body is not accepted',
      'Send it without Content-Encoding.',
    );
  }
  const { whole, bytes } = await collect(request);
  if (bytes > maxBytes) {
    throw new AdminError(413, 'admin.too-large', `the body is larger than ${maxBytes} bytes`);
  }
  try {
    return utf8.decode(whole);
  } catch {
    throw new AdminError(400, 'admin.bad-request', 'the body is not valid UTF-8');
  }
}

/** The body as JSON; what it must look like is for the port to say. */
export async function readJson(request: IncomingMessage, maxBytes = maxBodyBytes): Promise<unknown> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new AdminError(415, 'admin.media-type', 'this needs a JSON body', 'Send Content-Type: application/json.');
  }
  const text = await readText(request, maxBytes);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the fault, which may be a secret.
    throw new AdminError(400, 'admin.bad-json', 'the body is not valid JSON');
  }
}

/**
 * Past the limit the rest is thrown away as it comes, so that the client is still listening when it is told; past
 * `maxDrainBytes` it is not heard out. Not an async iteration: leaving one early would destroy the socket as well.
 */
function collect(request: IncomingMessage): Promise<{ whole: Buffer; bytes: number }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > maxDrainBytes) resolve({ whole: Buffer.alloc(0), bytes });
    });
    request.once('end', () => resolve({ whole: Buffer.concat(chunks), bytes }));
    request.once('error', reject);
    request.once('close', () => reject(new AdminError(400, 'admin.bad-request', 'the body ended too early')));
  });
}
