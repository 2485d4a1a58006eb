// What the other side has said in its SETTINGS (RFC 9113 section 6.5.2), and what we say in ours. Values that may not be are
// faults of the connection; settings that nobody knows are skipped.
import {
  frameHeadBytes,
  frameType,
  maxWindowBytes,
  settingId,
  usualFrameBytes,
  usualWindowBytes,
} from './frame-format.ts';
import { writeFrameHead } from './frame-output.ts';
import { usualTableBytes } from './hpack-static-table.ts';
import { errorCode, Http2Fault } from './http2-fault.ts';

const settingBytes = 6;
/** There are seven that anybody knows, and a few that are made up so that nobody relies on that. */
const maxSettings = 16;

export class PeerSettings {
  tableBytes = usualTableBytes;
  windowBytes = usualWindowBytes;
  frameBytes = usualFrameBytes;

  read(bytes: Buffer, start: number, end: number): void {
    if ((end - start) % settingBytes !== 0) throw new Http2Fault(errorCode.frameSize, 'settings of an odd length');
    if (end - start > maxSettings * settingBytes) {
      throw new Http2Fault(errorCode.enhanceYourCalm, 'more settings in one frame than there are');
    }
    for (let at = start; at < end; at += settingBytes) {
      this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
  }

  #set(id: number, value: number): void {
    if (id === settingId.headerTableSize) this.tableBytes = value;
    else if (id === settingId.enablePush) {
      if (value > 1) throw new Http2Fault(errorCode.protocol, 'a setting that is neither on nor off');
    } else if (id === settingId.initialWindowSize) {
      if (value > maxWindowBytes) throw new Http2Fault(errorCode.flowControl, 'a window that is too large');
      this.windowBytes = value;
    } else if (id === settingId.maxFrameSize) {
      if (value < usualFrameBytes || value > 0xffffff) {
        throw new Http2Fault(errorCode.protocol, 'a frame size that may not be');
      }
      this.frameBytes = value;
    }
  }
}

/** A whole SETTINGS frame. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const length = settings.length * settingBytes;
  const frame = Buffer.alloc(frameHeadBytes + length);
  writeFrameHead(frame, 0, length, frameType.settings, 0, 0);
  settings.forEach(([id, value], n) => {
    frame.writeUInt16BE(id, frameHeadBytes + n * settingBytes);
    frame.writeUInt32BE(value, frameHeadBytes + n * settingBytes + 2);
  });
  return frame;
}
