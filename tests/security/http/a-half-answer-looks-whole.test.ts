import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const ok = 'HTTP/1.1 200 OK\r\n';

const halves: [string, string][] = [
  ['less than its length', `${ok}Content-Length: 100\r\n\r\nhalf`],
  ['no last chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`],
  ['a chunk cut in two', `${ok}Transfer-Encoding: chunked\r\n\r\n40\r\nhalf`],
  ['a bad size after a good chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n`],
  ['a forbidden trailer', `${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\nContent-Length: 4\r\n\r\n`],
];

function answerAndClose(bytes: string): void {
  ground.upstream.answerWith((_request, socket) => {
    socket.end(bytes, 'latin1');
    return null;
  });
}

describe('an answer that breaks off never looks complete', () => {
  test.each(halves)('%s, over HTTP/1.1', async (_what, bytes) => {
    answerAndClose(bytes);
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.closed).toBe(true);
    // Either nothing of it was passed on, or what was has no end.
    if (answer.statuses[0] !== 200) expect(answer.text).not.toContain('half');
    else {
      expect(answer.statuses).toEqual([200]);
      expect(answer.text).toMatch(/Content-Length: 100|Transfer-Encoding: chunked/);
      expect(answer.text).not.toContain('0\r\n\r\n');
    }
  });

  test.each(halves)('%s, over HTTP/2', async (_what, bytes) => {
    answerAndClose(bytes);
    const session = await openHttp2(ground.gateway, 'api.example', { caPath: ground.gateway.caPath });
    const ended = await askHttp2(session, { ':path': '/' }).catch((error: Error) => error);
    if (!(ended instanceof Error)) expect(ended.headers[':status']).toBe(502);
    else expect(ended.message).toMatch(/INTERNAL_ERROR|code 2/);
    session.destroy();
  });

  test('a far side that closes without a word', async () => {
    ground.upstream.answerWith((_request, socket) => {
      socket.destroy();
      return null;
    });
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect([answer.statuses, answer.code]).toEqual([[502], 'upstream.closed']);
  });

  test('an answer that is whole passes whole, both ways', async () => {
    answerAndClose(`${ok}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4\r\nhalf\r\n0\r\n\r\n`);
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    // What comes in one read goes on in one chunk.
    expect(answer.text).toMatch(/\r\n\r\n(?:8\r\nhalfhalf|4\r\nhalf\r\n4\r\nhalf)\r\n0\r\n\r\n$/);
    const session = await openHttp2(ground.gateway, 'api.example', { caPath: ground.gateway.caPath });
    expect((await askHttp2(session, { ':path': '/' })).body.toString()).toBe('halfhalf');
    session.destroy();
  });
});
