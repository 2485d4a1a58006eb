// The form of the cases of the smuggling corpus, and the words they are written in. A case is data: a name, bytes and a
// verdict; what proves the verdict is in smuggling-ground.ts.

/**
 * `refused`: not one byte of it reaches the far side. `one`, `two`: it arrives as exactly so many requests. `unfinished`:
 * it waits for more, and no whole request arrives.
 */
export type Verdict = 'refused' | 'one' | 'two' | 'unfinished';

export interface RequestCase {
  readonly name: string;
  readonly bytes: string;
  readonly verdict: Verdict;
  /** What the far side must get as the body of the request, framing and all; absent: not looked at. */
  readonly body?: string;
  /** The request target that must arrive; absent: `/front`. */
  readonly target?: string;
}

export type CaseRow = readonly [name: string, verdict: Verdict, bytes: string, more?: Partial<RequestCase>];

export const cases = (family: string, rows: readonly CaseRow[]): RequestCase[] =>
  rows.map(([name, verdict, bytes, more]) => ({ name: `${family}: ${name}`, bytes, verdict, ...more }));

/** Words of requests to one host. */
export interface RequestWords {
  readonly host: string;
  /** A whole request that must never be one to the far side. */
  readonly hidden: string;
  /** A head with its blank line: `POST /front` with these lines after Host. */
  post(...lines: string[]): string;
  get(...lines: string[]): string;
  /** The head of a chunked POST. */
  readonly chunked: string;
  /** Any start line, any fields. */
  head(startLine: string, ...lines: string[]): string;
}

export function wordsFor(host: string): RequestWords {
  const head = (startLine: string, ...lines: string[]): string =>
    `${startLine}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
  const hostLine = `Host: ${host}`;
  const post = (...lines: string[]): string => head('POST /front HTTP/1.1', hostLine, ...lines);
  return {
    host,
    hidden: `GET /hidden HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    post,
    get: (...lines) => head('GET /front HTTP/1.1', hostLine, ...lines),
    chunked: post('Transfer-Encoding: chunked'),
    head,
  };
}

/** Text as one chunk. */
export const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
export const lastChunk = '0\r\n\r\n';
