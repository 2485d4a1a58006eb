// How long a frame of each kind is, and whether it belongs to a stream or to the connection (RFC 9113 section 6). What is
// neither as long nor where it should be is a fault of the connection.
import { frameFlag, frameType } from './frame-format.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';

const lengths: ReadonlyMap<number, number> = new Map([
  [frameType.priority, 5],
  [frameType.rstStream, 4],
  [frameType.ping, 8],
  [frameType.windowUpdate, 4],
]);
const ofStreams: ReadonlySet<number> = new Set([
  frameType.data,
  frameType.headers,
  frameType.priority,
  frameType.rstStream,
  frameType.continuation,
]);
const ofConnection: ReadonlySet<number> = new Set([frameType.settings, frameType.ping, frameType.goaway]);
const goawayBytes = 8;

/** Kinds that nobody knows are nobody's fault. */
export function checkFrame(type: number, flags: number, id: number, length: number): void {
  if (id === 0 && ofStreams.has(type)) throw new Http2Fault(errorCode.protocol, 'a frame of a stream on none');
  if (id !== 0 && ofConnection.has(type)) {
    throw new Http2Fault(errorCode.protocol, 'a frame of the connection on a stream');
  }
  const isAck = type === frameType.settings && (flags & frameFlag.ack) !== 0;
  if (
    length !== (lengths.get(type) ?? length) ||
    (isAck && length !== 0) ||
    (type === frameType.goaway && length < goawayBytes)
  ) {
    throw new Http2Fault(errorCode.frameSize, 'a frame of a wrong length');
  }
}
