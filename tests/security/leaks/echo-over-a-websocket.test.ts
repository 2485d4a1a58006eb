import { constants, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FrameReader } from '../../../src/protocols/websocket/websocket-frames.ts';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { readableKey } from '../../support/echoed-key.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const handshake =
  'GET /live HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate, x-rot13\r\n\r\n';
const upgraded =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n';

function frame(first: number, content: string): string {
  return `${String.fromCharCode(first, content.length)}${content}`;
}

/** Kind and content of what stands behind the handshake: frames that say nothing of compression. */
function readFrames(text: string): (number | string)[] {
  const seen: (number | string)[] = [];
  const reader = new FrameReader('server', false, {
    onHead: ({ opcode }) => {
      if (opcode !== 0) seen.push(opcode, '');
    },
    onContent: (content) => {
      seen.push(`${seen.pop()}${content.toString('latin1')}`);
    },
    onEnd: () => {},
  });
  reader.feed(Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1'));
  return seen;
}

async function connect(answer: string): Promise<string> {
  ground.upstream.forget();
  ground.upstream.answerWith((_request, socket) => {
    socket.end(answer, 'latin1');
    return null;
  });
  const { text } = await sendTunnelled(ground.gateway, 'api.example', handshake);
  expect(ground.upstream.bytes).toContain(plantedKey);
  return text;
}

describe('a credential does not come back over a WebSocket', () => {
  test.each([
    ['in a message', frame(0x81, `you sent ${plantedKey}`)],
    ['in a binary message', frame(0x82, `\x00\x01${plantedKey}`)],
    ['across two frames', frame(0x01, plantedKey.slice(0, 8)) + frame(0x80, plantedKey.slice(8))],
    [
      'across two frames with a ping between',
      frame(0x01, plantedKey.slice(0, 8)) + frame(0x89, '') + frame(0x80, plantedKey.slice(8)),
    ],
    ['in the words of a close', frame(0x88, `\x03\xe8${plantedKey}`)],
  ])('%s', async (_where, frames) => {
    const text = await connect(`${upgraded}\r\n${frames}`);
    expect(text).toContain('101 Switching Protocols');
    expect(readableKey(text)).toBeLessThan(4);
    expect(text.replace(/[^*]/g, '').length).toBe(plantedKey.length);
  });

  test('in a field of the handshake', async () => {
    const text = await connect(`${upgraded}Sec-WebSocket-Protocol: ${plantedKey}\r\n\r\n`);
    expect(text).toContain(`Sec-WebSocket-Protocol: ${'*'.repeat(plantedKey.length)}`);
  });

  test('compressed, where that was not agreed on: it is not passed on', async () => {
    const text = await connect(`${upgraded}\r\n${frame(0xc1, plantedKey)}`);
    expect(text).toContain('101 Switching Protocols');
    expect(readableKey(text)).toBeLessThan(4);
    expect(text).not.toContain('*');
  });

  test('in an extension that cannot be read: it is neither offered nor agreed on', async () => {
    const text = await connect(`${upgraded}Sec-WebSocket-Extensions: x-rot13\r\n\r\n${frame(0x81, 'words')}`);
    expect(ground.upstream.bytes).toContain('Sec-WebSocket-Extensions: permessage-deflate\r\n');
    expect(ground.upstream.bytes).not.toContain('x-rot13');
    expect(text).toContain('HTTP/1.1 502');
    expect(text).toContain('upstream.protocol');
  });

  test.each([
    ['in one frame', [] as number[]],
    ['in frames of a few bytes', [3, 7, 12]],
  ])('in a compressed message, %s: it arrives unfolded, and masked', async (_how, cuts) => {
    const content = deflateRawSync(`you sent ${plantedKey}`, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    const places = [0, ...cuts, content.length];
    const frames = places.slice(1).map((end, i) => {
      const part = content.subarray(places[i], end).toString('latin1');
      return frame((i === 0 ? 0x41 : 0x00) | (i === places.length - 2 ? 0x80 : 0), part);
    });
    const text = await connect(
      `${upgraded}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n${frames.join('')}${frame(0x89, '')}`,
    );
    expect(text).toContain('Sec-WebSocket-Extensions: permessage-deflate\r\n');
    expect(readFrames(text)).toEqual([1, `you sent ${'*'.repeat(plantedKey.length)}`, 9, '']);
    expect(readableKey(text)).toBeLessThan(4);
  });
});
