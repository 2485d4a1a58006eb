import { expect, test } from 'vitest';
import {
  BrokenFrame,
  ControlReader,
  frame,
  frameKind,
  maxFrameBytes,
  words,
} from '../../../../src/sandbox/hands/frames.ts';

test('frames come out as they went in, however they are cut', () => {
  const bytes = Buffer.concat([
    words({ a: 1 }),
    frame(frameKind.data, Buffer.from('text')),
    frame(frameKind.errors, Buffer.alloc(0)),
  ]);
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new ControlReader();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...reader.take(bytes.subarray(at, at + size)));
    expect(found.map(({ kind, body }) => [kind, body.toString()])).toEqual([
      [0, '{"a":1}'],
      [1, 'text'],
      [2, ''],
    ]);
  }
});

test('a frame that nobody could hold is refused before it is waited for', () => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(maxFrameBytes + 1, 1);
  expect(() => new ControlReader().take(head)).toThrow(BrokenFrame);
});
