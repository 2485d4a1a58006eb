// How many messages stand in a stream of bytes, in the eyes of many readers: each is lenient in another way, as real
// servers and clients are. Bytes that they all read alike cannot be used to smuggle anything. Shares no code with src/.

export interface LenientReader {
  readonly name: string;
  /** Ends of lines that it takes for one, beside CRLF. */
  readonly lines: 'crlf' | 'lf' | 'cr-or-lf';
  /** Which field it believes when there are both. */
  readonly believes: 'length' | 'chunked';
  /** Which of several lengths it takes. */
  readonly length: 'first' | 'last';
  /** Takes `Transfer_Encoding`, `Transfer-Encoding ` and `\vTransfer-Encoding` for the field. */
  readonly foldsNames: boolean;
  /** Goes by `chunked` anywhere in the value; otherwise only when it is the whole of the last element. */
  readonly anyChunked: boolean;
}

const strict: LenientReader = {
  name: 'by the book',
  lines: 'crlf',
  believes: 'chunked',
  length: 'first',
  foldsNames: false,
  anyChunked: false,
};

export const lenientReaders: readonly LenientReader[] = [
  strict,
  { ...strict, name: 'LF ends a line', lines: 'lf' },
  { ...strict, name: 'CR ends a line', lines: 'cr-or-lf', foldsNames: true },
  { ...strict, name: 'the length wins', believes: 'length' },
  { ...strict, name: 'the last length wins', believes: 'length', length: 'last', lines: 'lf' },
  { ...strict, name: 'any chunked is chunked', anyChunked: true, foldsNames: true, lines: 'lf' },
];

export interface ReadMessage {
  readonly start: string;
  /** Lower-case name and value of each line of the head. */
  readonly fields: readonly (readonly [string, string])[];
  /** As on the wire, with its framing. */
  readonly body: string;
  /** Where it ends in the stream. */
  readonly end: number;
}

export interface StreamReading {
  readonly messages: readonly ReadMessage[];
  /** What follows the last whole message. */
  readonly rest: string;
}

/** `answersTo`: the methods that were asked, one for each answer in the stream; absent: these are requests. */
export function readStream(
  text: string,
  reader: LenientReader,
  answersTo: readonly string[] | null = null,
): StreamReading {
  const messages: ReadMessage[] = [];
  let at = 0;
  while (at < text.length) {
    const message = readMessage(text, at, reader, answersTo === null ? null : finalMethod(messages, answersTo));
    if (message === null) break;
    messages.push(message);
    at = message.end;
  }
  return { messages, rest: text.slice(at) };
}

/** The names of the readers that find other messages than the first one does; empty: all agree. */
export function disagreeing(text: string, answersTo: readonly string[] | null = null): string[] {
  const seen = (reader: LenientReader): string => {
    const { messages, rest } = readStream(text, reader, answersTo);
    return JSON.stringify([messages.map(({ start, end }) => [start, end]), rest.length]);
  };
  const book = seen(strict);
  return lenientReaders.filter((reader) => seen(reader) !== book).map(({ name }) => name);
}

/** Interim answers come before the one that counts. */
function finalMethod(messages: readonly ReadMessage[], methods: readonly string[]): string {
  const done = messages.filter(({ start }) => !/^HTTP\/1\.\d 1(?!01)/.test(start)).length;
  return methods[done] ?? 'GET';
}

function readMessage(text: string, from: number, reader: LenientReader, method: string | null): ReadMessage | null {
  const lines: string[] = [];
  let at = from;
  for (;;) {
    const line = readLine(text, at, reader);
    if (line === null) return null;
    at = line.next;
    if (line.text === '') break;
    lines.push(line.text);
  }
  const fields = lines.slice(1).map((line) => readField(line, reader));
  const start = lines[0] ?? '';
  const end = endOfBody(text, at, start, fields, reader, method);
  return end < 0 ? null : { start, fields, body: text.slice(at, end), end };
}

function endOfBody(
  text: string,
  at: number,
  start: string,
  fields: readonly (readonly [string, string])[],
  reader: LenientReader,
  method: string | null,
): number {
  const status = method === null ? null : Number(start.split(' ')[1]);
  if (status !== null && (method === 'HEAD' || status < 200 || status === 204 || status === 304)) return at;
  const codings = fields.filter(([name]) => name === 'transfer-encoding').map(([, value]) => value.toLowerCase());
  const last = codings.at(-1)?.split(',').at(-1)?.trim();
  const isChunked = reader.anyChunked ? codings.some((value) => value.includes('chunked')) : last === 'chunked';
  const lengths = fields.filter(([name]) => name === 'content-length').map(([, value]) => Number.parseInt(value, 10));
  const length = reader.length === 'first' ? lengths[0] : lengths.at(-1);
  if (isChunked && !(reader.believes === 'length' && length !== undefined)) return endOfChunks(text, at, reader);
  if (length === undefined) return status === null ? at : text.length;
  const end = at + (Number.isNaN(length) ? 0 : length);
  return end > text.length ? -1 : end;
}

function endOfChunks(text: string, from: number, reader: LenientReader): number {
  let at = from;
  for (;;) {
    const line = readLine(text, at, reader);
    if (line === null) return -1;
    at = line.next;
    const size = Number.parseInt(line.text, 16);
    if (size > 0) {
      const end = readLine(text, at + size, reader);
      if (end === null) return -1;
      at = end.next;
      continue;
    }
    for (;;) {
      const trailer = readLine(text, at, reader);
      if (trailer === null) return -1;
      at = trailer.next;
      if (trailer.text === '') return at;
    }
  }
}

function readLine(text: string, at: number, { lines }: LenientReader): { text: string; next: number } | null {
  const ends = lines === 'crlf' ? /\r\n/g : lines === 'lf' ? /\r?\n/g : /\r\n|\r|\n/g;
  ends.lastIndex = at;
  const found = ends.exec(text);
  return found === null ? null : { text: text.slice(at, found.index), next: ends.lastIndex };
}

function readField(line: string, { foldsNames }: LenientReader): readonly [string, string] {
  const colon = line.indexOf(':');
  const name = (colon < 0 ? line : line.slice(0, colon)).toLowerCase();
  const value = colon < 0 ? '' : line.slice(colon + 1).trim();
  // Whatever is no letter around a name counts for nothing, as with readers that trim control bytes away.
  return [
    foldsNames
      ? name
          .replace(/[^a-z]+$/, '')
          .replace(/^[^a-z]+/, '')
          .replaceAll('_', '-')
      : name,
    value,
  ];
}
