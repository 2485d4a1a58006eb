import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendPlain, sendTunnelled } from '../../support/raw-client.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';

let ground: AttackGround;
let inside: RawUpstream;

beforeAll(async () => {
  ground = await openAttackGround();
  inside = await startRawUpstream({ tls: null, serve: ({ wire }) => wire.send('HTTP/1.1 200 OK\r\n\r\n') });
});

afterAll(async () => {
  await ground.stop();
  await inside.close();
});

/** Spellings of this machine, of the metadata service and of public addresses that some resolver or parser takes. */
const literals = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0X7F.0.0.1',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '0000127.0.0.1',
  '0',
  '0.0.0.0',
  '0x',
  'api.example.0x7f',
  'localhost.1',
  '169.254.169.254',
  '0xa9fea9fe',
  '1.1.1.1',
  '999.999.999.999',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:0:0:1]',
  '[fe80::1%25lo]',
  '[64:ff9b::7f00:1]',
  '[2606:4700::1111]',
];

/** Not even readable as an address once they are taken strictly. */
const unreadable = [
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
  '127.0.0.1%00',
  '①②⑦.0.0.1 x',
  '127。0。0。1 x',
];

const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('an address is never reached directly, however it is written', () => {
  test.each(literals)('CONNECT %s', async (literal) => {
    const authority = `${literal}:${inside.port}`;
    const request = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;
    const answer = await sendPlain(ground.gateway, request);
    expect(answer.statuses).toEqual([403]);
    expect(answer.code).toBe('target.literal-address');
    expect(inside.connections).toBe(0);
  });

  test.each(literals)('GET http://%s/', async (literal) => {
    const authority = `${literal}:${inside.port}`;
    const request = `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;
    const answer = await sendPlain(ground.gateway, request);
    expect([answer.statuses, answer.code]).toEqual([[403], 'target.literal-address']);
    expect(inside.connections).toBe(0);
  });

  test.each([...literals, '１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1'])(
    'Host: %s inside an allowed connection',
    async (literal) => {
      ground.upstream.forget();
      const request = `GET / HTTP/1.1\r\nHost: ${asBytes(literal)}\r\nConnection: close\r\n\r\n`;
      const answer = await sendTunnelled(ground.gateway, 'api.example', request);
      expect([answer.statuses, answer.code]).toEqual([[403], 'target.literal-address']);
      expect(ground.upstream.bytes).toBe('');
    },
  );

  test.each(unreadable)('%s is no host at all', async (text) => {
    ground.upstream.forget();
    const request = `GET / HTTP/1.1\r\nHost: ${asBytes(text)}\r\n\r\n`;
    const answer = await sendTunnelled(ground.gateway, 'api.example', request);
    expect([answer.statuses, answer.code]).toEqual([[400], 'malformed.host']);
    expect(ground.upstream.bytes).toBe('');
  });

  test('an address in the handshake is no other name for the host', async () => {
    ground.upstream.forget();
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest, { sni: '2130706433' });
    expect([answer.statuses, answer.code]).toEqual([[403], 'target.literal-address']);
    expect(ground.upstream.bytes).toBe('');
  });

  test('the name itself gets through, and names that only look like numbers are names', async () => {
    const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    expect(answer.statuses).toEqual([200]);
    const request = 'GET / HTTP/1.1\r\nHost: 127-0-0-1.example\r\nConnection: close\r\n\r\n';
    const other = await sendTunnelled(ground.gateway, '127-0-0-1.example', request);
    expect(other.code).toBe('domain.not-allowed');
  });
});
