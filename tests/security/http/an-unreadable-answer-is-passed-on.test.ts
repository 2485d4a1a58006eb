import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { plainAnswer } from '../../support/recording-upstream.ts';

const parses = vi.hoisted(() => ({ count: 0 }));

vi.mock('../../../src/protocols/http1/response-head.ts', async (original) => {
  const real = await original<typeof import('../../../src/protocols/http1/response-head.ts')>();
  return {
    parseResponseHead: (...args: Parameters<typeof real.parseResponseHead>) => {
      parses.count++;
      return real.parseResponseHead(...args);
    },
  };
});

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround({ limits: { head_bytes: 16_384 } });
});

afterAll(() => ground.stop());

// An upstream that fails again and again is left alone: every attempt here begins anew.
beforeEach(() => ground.gateway.gateway.reload());

const ok = 'HTTP/1.1 200 OK\r\n';

const hostile: [string, string][] = [
  ['Content-Length and Transfer-Encoding', `${ok}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${ok}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
  ['a list of lengths', `${ok}Content-Length: 3, 3\r\n\r\nabc`],
  ['a negative length', `${ok}Content-Length: -1\r\n\r\n`],
  ['another coding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['two codings', `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a switch of protocols nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nraw bytes'],
  ['an interim answer with a body', 'HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nhello'],
  ['interim answers without end', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(5_000)],
  ['100 without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(5_000)],
  ['a field without end', `${ok}X: ${'y'.repeat(20_000)}`],
  ['fields without end', `${ok}${'X: y\r\n'.repeat(300)}`],
  ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['a bare CR in a value', `${ok}X: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n`],
  ['a bare LF in a value', `${ok}X: a\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n`],
  ['a NUL in a value', `${ok}X: a\0b\r\nContent-Length: 0\r\n\r\n`],
  ['a folded field', `${ok}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
  ['a space before the colon', `${ok}Content-Length : 0\r\n\r\n`],
  ['a look-alike of a framing field', `${ok}Transfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\n`],
  ['status 600', 'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n'],
  ['status 99', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['HTTP/2 unasked', 'HTTP/2 200\r\n\r\n'],
  ['no head at all', '<html>hello</html>'],
];

describe('an answer that cannot be read in one way is not passed on', () => {
  test.each(hostile)('%s', async (_what, bytes) => {
    ground.upstream.answerWith(() => bytes);
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.statuses.at(-1)).toBe(502);
    expect(answer.statuses.filter((status) => status >= 200)).toEqual([502]);
    expect(answer.statuses.length).toBeLessThan(20);
    expect(answer.code).toBe('upstream.protocol');
    expect(answer.text).not.toContain(plantedKey);
    expect(answer.text).not.toContain('Set-Cookie');
  });

  test('a head that drips in costs no more than its length', async () => {
    ground.upstream.answerWith((_request, socket) => {
      const bytes = Buffer.from(`${ok}X: ${'y'.repeat(15_000)}\r\nContent-Length: 2\r\n\r\nok`, 'latin1');
      let at = 0;
      const drip = (): void => {
        for (let n = 0; n < 64 && at < bytes.length; n++) socket.write(bytes.subarray(at, ++at));
        if (at < bytes.length && !socket.destroyed) setImmediate(drip);
      };
      drip();
      return null;
    });
    parses.count = 0;
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest, { waitMs: 15_000 });
    expect(answer.statuses).toEqual([200]);
    // Once per kilobyte and once per line, not once per byte.
    expect(parses.count).toBeLessThan(40);
  });

  test('the same far side, answering well, is passed on with its fields', async () => {
    ground.upstream.answerWith(
      () =>
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' +
        `${ok}Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Obs: caf\xe9\r\nContent-Length: 2\r\n\r\nok`,
    );
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.statuses).toEqual([103, 200]);
    expect(answer.text).toContain('Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Obs: caf\xe9\r\n');
    expect(answer.text.endsWith('\r\n\r\nok')).toBe(true);
    ground.upstream.answerWith(plainAnswer);
  });
});
