// Every fault of an upstream, and what becomes of it: the table that upstream-faults.test.ts runs.
import { setInterval as every } from 'node:timers';
import type { FaultyRequest, H1Fault, H2Fault } from '../support/faulty-upstream.ts';
import { dataFrame, endStream, type FieldPairs, headersFrame, resetFrame } from '../support/raw-http2.ts';

/** What the client gets: a refusal in words, the head of an answer that then breaks off, or an answer that is whole. */
export type Fate =
  | { readonly refused: number; readonly code: string }
  | { readonly broken: string }
  | { readonly whole: number; readonly body?: string };

export interface Case<F> {
  readonly fault: F;
  readonly fate: Fate;
  /** The connection is in good order and is kept; else it is closed at once. */
  readonly kept?: true;
  readonly ask?: 'HEAD' | 'upload' | 'large upload' | 'websocket';
}

const ok = 'HTTP/1.1 200 OK\r\n';
const closed: Fate = { refused: 502, code: 'upstream.closed' };
const protocol: Fate = { refused: 502, code: 'upstream.protocol' };
const tooSlow: Fate = { refused: 504, code: 'upstream.timeout' };
const fine: Fate = { whole: 200, body: 'fine' };

const says =
  (text: string): H1Fault =>
  ({ wire }) =>
    wire.send(text);

/** What was said has to be there before the reset overtakes it. */
const saysAndThen =
  (text: string, act: (request: FaultyRequest) => void): H1Fault =>
  (request) => {
    request.wire.send(text);
    setTimeout(() => act(request), 60);
  };
const reset = ({ bare }: FaultyRequest): void => void bare.resetAndDestroy();
const end = ({ socket }: FaultyRequest): void => void socket.end();

export const h1Cases: Readonly<Record<string, Case<H1Fault>>> = {
  'reset-before-head': { fault: reset, fate: closed },
  'closed-before-head': { fault: end, fate: closed },
  'reset-in-head': { fault: saysAndThen(`${ok}Content-Le`, reset), fate: closed },
  'reset-in-length': {
    fault: saysAndThen(`${ok}Content-Length: 100\r\n\r\nhalf`, reset),
    fate: { broken: 'upstream.closed' },
  },
  'reset-in-chunks': {
    fault: saysAndThen(`${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`, reset),
    fate: { broken: 'upstream.closed' },
  },
  'reset-in-body-until-close': { fault: saysAndThen(`${ok}\r\nhalf`, reset), fate: { broken: 'upstream.closed' } },
  'closed-in-body-until-close': { fault: saysAndThen(`${ok}\r\nfine`, end), fate: fine },
  'closed-in-length': {
    fault: saysAndThen(`${ok}Content-Length: 100\r\n\r\nhalf`, end),
    fate: { broken: 'upstream.closed' },
  },
  // An alert in clear where a record is due.
  'tls-broken-in-body': {
    fault: saysAndThen(`${ok}Content-Length: 100\r\n\r\nhalf`, ({ bare }) => bare.write('\x15\x03\x03\0\x02\x02\x28')),
    fate: { broken: 'upstream.closed' },
  },
  'stall-before-head': { fault: () => {}, fate: tooSlow },
  'stall-in-head': { fault: says(`${ok}X-Never: `), fate: tooSlow },
  // Each byte in good time, the head never: it must not buy time.
  'drip-in-head': {
    fault: ({ socket }) => {
      const drip = every(() => socket.write('x'), 100);
      socket.write(`${ok}X-Drip: `);
      socket.on('close', () => clearInterval(drip));
    },
    fate: tooSlow,
  },
  'stall-in-body': { fault: says(`${ok}Content-Length: 100\r\n\r\nhalf`), fate: { broken: 'upstream.timeout' } },
  'end-before-upload-is-read': {
    fault: ({ socket }) => {
      socket.pause();
      socket.end();
    },
    fate: closed,
    ask: 'large upload',
  },
  'stall-in-upload': {
    fault: ({ socket }) => {
      socket.pause();
      // So that it hears at last that it was left.
      setTimeout(() => socket.resume(), 7_000);
    },
    fate: tooSlow,
    ask: 'large upload',
  },
  'answers-before-upload-413': {
    fault: says('HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nfine'),
    fate: { whole: 413, body: 'fine' },
    ask: 'upload',
  },
  'answers-before-upload-401-and-closes': {
    fault: saysAndThen('HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine', end),
    fate: { whole: 401, body: 'fine' },
    ask: 'upload',
  },
  'longer-than-its-length': { fault: says(`${ok}Content-Length: 4\r\n\r\nfine${ok}`), fate: fine },
  'body-of-204': { fault: says(`HTTP/1.1 204 No Content\r\n\r\nextra`), fate: { whole: 204 } },
  'body-of-304': {
    fault: says(`HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nextra`),
    fate: { whole: 304 },
  },
  'body-of-head': { fault: says(`${ok}Content-Length: 5\r\n\r\nextra`), fate: { whole: 200 }, ask: 'HEAD' },
  'length-and-chunks': {
    fault: says(`${ok}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    fate: protocol,
  },
  'two-lengths': { fault: says(`${ok}Content-Length: 4\r\nContent-Length: 5\r\n\r\nfine!`), fate: protocol },
  'nul-in-a-field': { fault: says(`${ok}X: a\0b\r\nContent-Length: 0\r\n\r\n`), fate: protocol },
  'bad-chunk': {
    fault: says(`${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnot a size\r\n`),
    fate: { broken: 'upstream.protocol' },
  },
  'no-head': { fault: says('SSH-2.0-OpenSSH_9.2\r\n'), fate: protocol },
  'giant-head': { fault: says(`${ok}X: ${'y'.repeat(100_000)}`), fate: protocol },
  'endless-interim': { fault: says('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500)), fate: protocol },
  'upgrade-unasked': { fault: says('HTTP/1.1 101 Switching Protocols\r\n\r\nraw'), fate: protocol },
  trailers: {
    fault: says(`${ok}Keep-Alive: timeout=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\nX-Sum: 1\r\n\r\n`),
    fate: fine,
    kept: true,
  },
  'websocket-refused': { fault: end, fate: closed, ask: 'websocket' },
};

const final: FieldPairs = [[':status', '200']];

function frame(type: number, payload: Buffer, stream = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const settings = (id: number, value: number): Buffer => {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id, 0);
  payload.writeUInt32BE(value, 2);
  return frame(4, payload);
};

const goaway = (last: number, code: number): Buffer => {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(last, 0);
  payload.writeUInt32BE(code, 4);
  return frame(7, payload);
};

export const h2Cases: Readonly<Record<string, Case<H2Fault>>> = {
  'h2-reset-of-stream': { fault: (s, peer) => peer.send(resetFrame(s, 2)), fate: closed, kept: true },
  'h2-refused-stream': { fault: (s, peer) => peer.send(resetFrame(s, 7)), fate: closed, kept: true },
  'h2-reset-of-connection': { fault: (_s, _peer, bare) => void bare.resetAndDestroy(), fate: closed },
  'h2-closed-connection': { fault: (_s, peer) => void peer.socket.end(), fate: closed },
  'h2-goaway': { fault: (_s, peer) => peer.send(goaway(0, 0)), fate: closed },
  'h2-goaway-with-error': { fault: (_s, peer) => peer.send(goaway(0, 11)), fate: closed },
  'h2-reset-in-body': {
    fault: (s, peer) => peer.send(headersFrame(s, final, 0), dataFrame(s, 'half'), resetFrame(s, 2)),
    fate: { broken: 'upstream.closed' },
    kept: true,
  },
  'h2-connection-reset-in-body': {
    fault: (s, peer, bare) => {
      peer.send(headersFrame(s, final, 0), dataFrame(s, 'half'));
      setTimeout(() => bare.resetAndDestroy(), 60);
    },
    fate: { broken: 'upstream.closed' },
  },
  'h2-stall-before-head': { fault: () => {}, fate: tooSlow },
  'h2-stall-in-body': {
    fault: (s, peer) => peer.send(headersFrame(s, final, 0), dataFrame(s, 'half')),
    fate: { broken: 'upstream.timeout' },
    kept: true,
  },
  'h2-no-window': { fault: () => {}, fate: tooSlow, ask: 'upload' },
  'h2-shorter-than-its-length': {
    fault: (s, peer) =>
      peer.send(headersFrame(s, [...final, ['content-length', '9']], 0), dataFrame(s, 'half', endStream)),
    fate: { broken: 'upstream.closed' },
    kept: true,
  },
  // Its length is that of what a GET would get (RFC 9110 8.6), and the end may come in a frame of its own.
  'h2-answer-to-head-ends-later': {
    fault: (s, peer) => peer.send(headersFrame(s, [...final, ['content-length', '9']], 0), dataFrame(s, '', endStream)),
    fate: { whole: 200 },
    kept: true,
    ask: 'HEAD',
  },
  'h2-answer-to-head-with-a-body': {
    fault: (s, peer) =>
      peer.send(headersFrame(s, [...final, ['content-length', '9']], 0), dataFrame(s, 'not to be', endStream)),
    fate: { broken: 'upstream.closed' },
    kept: true,
    ask: 'HEAD',
  },
  'h2-304-ends-later': {
    fault: (s, peer) =>
      peer.send(
        headersFrame(
          s,
          [
            [':status', '304'],
            ['content-length', '9'],
          ],
          0,
        ),
        dataFrame(s, '', endStream),
      ),
    fate: { whole: 304 },
    kept: true,
  },
  'h2-head-after-the-end': {
    fault: (s, peer) =>
      peer.send(headersFrame(s, final, 0), dataFrame(s, 'fine', endStream), headersFrame(s, final, endStream)),
    fate: fine,
    kept: true,
  },
  // Read as the head of a frame that is too long to be one. node:http2 of Node 20 does not tell: time does.
  'h2-no-frames': {
    fault: (_s, peer) => void peer.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    fate: Number.parseInt(process.versions.node, 10) < 22 ? tooSlow : closed,
  },
  'h2-settings-flood': {
    fault: (s, peer) => {
      for (let i = 0; i < 3_000; i++) peer.send(settings(4, 65_535));
      peer.send(headersFrame(s, final, 0), dataFrame(s, 'fine', endStream));
    },
    fate: closed,
  },
};
