import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../support/attack-ground.ts';
import { readableKey } from '../support/echoed-key.ts';
import { sendTunnelled } from '../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const handshake =
  'GET /live HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const upgraded =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n';

function frame(first: number, content: string): string {
  return `${String.fromCharCode(first, content.length)}${content}`;
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

  test('compressed: that is not offered, and not passed on', async () => {
    const text = await connect(`${upgraded}\r\n${frame(0xc1, plantedKey)}`);
    expect(ground.upstream.bytes.toLowerCase()).not.toContain('permessage-deflate');
    expect(readableKey(text)).toBeLessThan(4);
  });
});
