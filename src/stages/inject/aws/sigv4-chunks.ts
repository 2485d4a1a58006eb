// A body of S3 in which every chunk is signed (Content-Encoding: aws-chunked): read chunk by chunk, each signed anew over the
// signature before it. As long as it was, and no more of it in memory than one chunk. A body that is not what it says breaks
// off: nothing of it goes on unsigned.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html and sigv4-streaming-trailers.html
import { createHash } from 'node:crypto';
import { BodyPull } from '../../../path/exchange/body-pull.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import { ReplacedBody } from '../../../path/exchange/replaced-body.ts';
import type { AwsScope } from './aws-endpoint.ts';
import type { AwsKeys } from './aws-keys.ts';
import { scopeText, signText } from './sigv4-sign.ts';

/** Clients send 64 KiB to 1 MiB at a time. */
const maxChunkBytes = 16 * 1024 * 1024;
const maxTrailerBytes = 16 * 1024;
const chunkHead = /^([0-9a-fA-F]{1,8});chunk-signature=[0-9a-f]{64}$/;
const trailerSignature = /^x-amz-trailer-signature:[0-9a-f]{64}$/;
const hashOfNothing = createHash('sha256').digest('hex');

/** What the first chunk is signed over. */
export interface ChunkSeed {
  readonly scope: AwsScope;
  readonly dateTime: string;
  readonly signature: string;
}

export class ResignedChunks extends ReplacedBody {
  /** `inner` in payload form. */
  constructor(inner: Exchange, seed: ChunkSeed, keys: AwsKeys, kind: 'signed' | 'signed-with-trailer') {
    super(inner, inner.requestFraming, () => resigned(inner, seed, keys, kind === 'signed-with-trailer'));
  }
}

async function* resigned(inner: Exchange, seed: ChunkSeed, keys: AwsKeys, hasTrailer: boolean): AsyncGenerator<Buffer> {
  const { scope, dateTime } = seed;
  const body = new Cut(inner);
  let before = seed.signature;
  const sign = (kind: 'PAYLOAD' | 'TRAILER', ...hashes: string[]): string => {
    const text = [`AWS4-HMAC-SHA256-${kind}`, dateTime, scopeText(scope, dateTime), before, ...hashes].join('\n');
    before = signText(text, scope, dateTime, keys);
    return before;
  };
  for (let bytes = -1; bytes !== 0; ) {
    const size = chunkHead.exec(await body.line(128))?.[1];
    if (size === undefined) throw broken('a chunk does not begin with its size and signature');
    bytes = Number.parseInt(size, 16);
    if (bytes > maxChunkBytes) throw broken(`a chunk has more than ${maxChunkBytes} bytes`);
    const data = await body.take(bytes);
    yield Buffer.from(`${size};chunk-signature=${sign('PAYLOAD', hashOfNothing, hashOf(data))}\r\n`);
    // The last one has its end after the trailer fields.
    if (bytes === 0 && hasTrailer) break;
    if ((await body.take(2)).toString('latin1') !== '\r\n') throw broken('a chunk is not as long as it says');
    yield Buffer.concat([data, Buffer.from('\r\n')]);
  }
  if (hasTrailer)
    yield Buffer.from(
      trailerOf(await body.rest(maxTrailerBytes), (hash) => sign('TRAILER', hash)),
      'latin1',
    );
  // Throws when there is more.
  await body.rest(0);
}

/** Line ends stay as they came: clients write them in more than one way. */
function trailerOf(text: string, sign: (hash: string) => string): string {
  const lines = text.split(/(?<=\n)/);
  const at = lines.findIndex((line) => trailerSignature.test(line.trim()));
  const fields = lines.slice(0, Math.max(at, 0)).map((line) => line.trim());
  if (at < 0 || lines.slice(at + 1).some((line) => line.trim() !== '')) throw broken('its trailer is not signed');
  const canonical = fields.filter((field) => field !== '').map((field) => `${field.replace(/\s*:\s*/, ':')}\n`);
  const signature = sign(createHash('sha256').update(canonical.join(''), 'latin1').digest('hex'));
  lines[at] = lines[at]!.replace(/[0-9a-f]{64}/, signature);
  return lines.join('');
}

/** A body cut where its format says. */
class Cut {
  readonly #pull: BodyPull;
  #held: Buffer = Buffer.alloc(0);

  constructor(exchange: Exchange) {
    this.#pull = BodyPull.from(exchange);
  }

  /** Without its CRLF. */
  async line(maxBytes: number): Promise<string> {
    for (;;) {
      const end = this.#held.indexOf('\r\n');
      if (end >= 0) return (await this.take(end + 2)).toString('latin1', 0, end);
      if (this.#held.length > maxBytes || !(await this.#more())) throw broken('it ends in the middle of a line');
    }
  }

  async take(bytes: number): Promise<Buffer> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < bytes) {
      const chunk = await this.#pull.next();
      if (chunk === null) throw broken('it ends in the middle of a chunk');
      parts.push(chunk);
      length += chunk.length;
    }
    const all = parts.length === 1 ? this.#held : Buffer.concat(parts, length);
    this.#held = all.subarray(bytes);
    return all.subarray(0, bytes);
  }

  /** All that is left. */
  async rest(maxBytes: number): Promise<string> {
    do {
      if (this.#held.length > maxBytes) throw broken('there is more at its end than there may be');
    } while (await this.#more());
    const text = this.#held.toString('latin1');
    this.#held = Buffer.alloc(0);
    return text;
  }

  async #more(): Promise<boolean> {
    const chunk = await this.#pull.next();
    if (chunk !== null) this.#held = Buffer.concat([this.#held, chunk]);
    return chunk !== null;
  }
}

function hashOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function broken(what: string): Error {
  return new Error(`a body of signed chunks cannot be signed anew: ${what}`);
}
