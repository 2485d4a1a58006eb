import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { openTls } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const head = 'POST /body HTTP/1.1\r\nHost: api.example\r\n';
const hidden = 'DELETE /hidden HTTP/1.1\r\nHost: api.example\r\n\r\n';
const chunks = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`;

describe('a body that turns out broken on its way is never finished towards the upstream', () => {
  test.each([
    ['a chunk longer than it says', `${chunks}5\r\nhello there\r\n0\r\n\r\n${hidden}`],
    ['a bad size', `${chunks}zz\r\n0\r\n\r\n${hidden}`],
    ['a forbidden trailer', `${chunks}0\r\nContent-Length: 3\r\n\r\n${hidden}`],
    ['an LF for a CRLF', `${chunks}0\n\n${hidden}`],
  ])('%s, in small pieces', async (_what, bytes) => {
    ground.upstream.forget();
    const answer = await sendTunnelled(ground.gateway, 'api.example', bytes, { pieceBytes: 9 });
    expect([answer.statuses, answer.code, answer.closed]).toEqual([[400], 'malformed.framing', true]);
    expect(ground.upstream.requests).toEqual([]);
    expect(ground.upstream.bytes).not.toContain('hidden');
  });

  test('a client that leaves in the middle', async () => {
    ground.upstream.forget();
    const tls = await openTls(ground.gateway, 'api.example:443', { caPath: ground.gateway.caPath });
    tls.write(`${head}Content-Length: 10\r\n\r\nhalf`);
    await eventually(() => ground.upstream.bytes.endsWith('half'), 'the first half arrives');
    tls.destroy();
    const records = await eventually(async () => {
      const all = await ground.gateway.journal();
      return all.some(({ verdict }) => verdict === 'abandoned') ? all : null;
    }, 'the journal has it');
    expect(records.at(-1)).toMatchObject({ verdict: 'abandoned', path: '/body' });
    expect(ground.upstream.requests).toEqual([]);
  });

  test('the same body, whole and in the same pieces, arrives as one request', async () => {
    ground.upstream.forget();
    const whole = `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
    const answer = await sendTunnelled(ground.gateway, 'api.example', whole, { pieceBytes: 9 });
    expect(answer.statuses).toEqual([200]);
    expect(ground.upstream.requests.map(({ body }) => body)).toEqual(['5\r\nhello\r\n0\r\n\r\n']);
  });
});
