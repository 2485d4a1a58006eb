// A server of HTTP/2 without a socket: frames go in by hand, and what it writes comes out as frames.

import { preface } from '../../../../src/protocols/http2/frame-format.ts';
import { type FrameHandler, Http2FrameReader } from '../../../../src/protocols/http2/frame-reader.ts';
import type { Http2Fault } from '../../../../src/protocols/http2/http2-fault.ts';
import { Http2Server, type ServerHandler } from '../../../../src/protocols/http2/http2-server.ts';
import type { FieldLists, Http2Stream } from '../../../../src/protocols/http2/http2-stream.ts';
import type { RequestFields } from '../../../../src/protocols/http2/request-fields.ts';
import { frame } from '../../../support/raw-http2.ts';

export const limits = {
  headBytes: 65_536,
  streams: 128,
  streamWindowBytes: 256 * 1024,
  sessionWindowBytes: 1024 * 1024,
};

/** A frame as `type flags stream payload`, the payload in hex or as its length. */
export type Written = readonly [type: number, flags: number, stream: number, payload: Buffer];

export interface Arrived {
  readonly stream: Http2Stream;
  readonly request: RequestFields;
  content: Buffer;
  /** Undefined: its end has not come. */
  trailers: FieldLists | null | undefined;
  drained: number;
  closed: { readonly byPeer: boolean; readonly fault: string | null } | null;
}

export class HandMadeServer implements ServerHandler {
  readonly server: Http2Server;
  readonly requests: Arrived[] = [];
  readonly malformed: string[] = [];
  readonly writes: Buffer[] = [];
  refused = 0;
  done = 0;
  fault: Http2Fault | null = null;
  /** Whether the socket takes more. */
  takes = true;
  onArrived: (arrived: Arrived) => void = () => {};

  constructor(greeted = true) {
    const sink = {
      write: (bytes: Buffer) => {
        this.writes.push(Buffer.from(bytes));
        return this.takes;
      },
      cork: () => {},
      uncork: () => {},
    };
    this.server = new Http2Server(sink, limits, this);
    if (greeted) this.feed(preface, frame(4, 0, 0, Buffer.alloc(0)));
  }

  onRequest(stream: Http2Stream, request: RequestFields): void {
    const arrived: Arrived = {
      stream,
      request,
      content: Buffer.alloc(0),
      trailers: undefined,
      drained: 0,
      closed: null,
    };
    stream.handler = {
      onContent: (bytes) => {
        arrived.content = Buffer.concat([arrived.content, bytes]);
      },
      onEnd: (trailers) => {
        arrived.trailers = trailers;
      },
      onDrain: () => {
        arrived.drained++;
      },
      onClosed: (byPeer, fault) => {
        arrived.closed = { byPeer, fault };
      },
    };
    this.requests.push(arrived);
    this.onArrived(arrived);
  }

  onMalformed(fault: string): void {
    this.malformed.push(fault);
  }

  onRefused(): void {
    this.refused++;
  }

  onFault(fault: Http2Fault): void {
    this.fault = fault;
  }

  onDone(): void {
    this.done++;
  }

  feed(...parts: Buffer[]): void {
    for (const part of parts) this.server.feed(part);
  }

  /** What was written since it was last asked, all of it. */
  take(): Written[] {
    this.server.sender.output.flush();
    return framesOf(Buffer.concat(this.writes.splice(0)));
  }

  /** Content of a stream among such frames. */
  static contentOf(frames: readonly Written[], stream: number): Buffer {
    return Buffer.concat(frames.filter(([type, , id]) => type === 0 && id === stream).map(([, , , bytes]) => bytes));
  }
}

function framesOf(bytes: Buffer): Written[] {
  const frames: Written[] = [];
  let content: Buffer[] = [];
  const handler: FrameHandler = {
    isOver: false,
    onFrame: (type, flags, stream, from, start, end) => frames.push([type, flags, stream, from.subarray(start, end)]),
    onDataFrame: () => {
      content = [];
    },
    onContent: (part) => content.push(part),
    onDataEnd: (stream, flags) => frames.push([0, flags, stream, Buffer.concat(content)]),
  };
  new Http2FrameReader(handler).feed(bytes, 0);
  return frames;
}
