// The frames of HTTP/2 by number (RFC 9113 section 6), and what is written by both sides before anything else.

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const settingId = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const frameHeadBytes = 9;
/** What a frame may hold as long as nobody has said otherwise; we never do. */
export const usualFrameBytes = 16_384;
export const usualWindowBytes = 65_535;
export const maxWindowBytes = 0x7fffffff;

/** How a client begins. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
