import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DnsGround, openDnsGround, questionOf, readReply, typeNumbers } from '../../support/dns-ground.ts';
import { openDnsPath } from '../../support/dns-path.ts';

let ground: DnsGround;

beforeAll(async () => {
  ground = await openDnsGround();
});

afterAll(() => ground.close());

describe('records that carry free text, or everything at once, are never answered, however welcome the name', () => {
  const unknown = [0, 11, 38, 41, 99, 249, 250, 251, 252, 253, 254, 260, 4711, 65_280, 65_535];

  test.each([typeNumbers.TXT, typeNumbers.ANY, typeNumbers.NULL, ...unknown])('type %i', async (type) => {
    for (const name of ['api.example.com', 'localhost', '.', '1.0.18.198.in-addr.arpa']) {
      const reply = readReply(await ground.udp(questionOf(name, type)));
      expect(reply).toMatchObject({ rcodeNumber: 5, answers: [], authorities: [] });
    }
  });

  test('no answer to any type holds anything but the address of the name', async () => {
    const big = await openDnsGround();
    for (let type = 0; type < 150; type++) {
      const reply = readReply(await big.udp(questionOf('api.example.com', type)));
      const types = (reply.answers ?? []).map((answer) => answer.type);
      expect(types).toEqual(type === 1 ? ['A'] : type === 28 ? ['AAAA'] : []);
    }
    await big.close();
  });

  test('the path is told of each attempt', async () => {
    const quiet = await openDnsGround();
    for (const type of ['TXT', 'ANY', 'NULL', 65_280] as const) await quiet.udp(questionOf('api.example.com', type));
    expect(quiet.lookups.map((one) => one.split(' ')[1])).toEqual(['TXT', 'ANY', 'NULL', 'TYPE65280']);
    await quiet.close();
  });

  test('the attempt is written down, under an allowed name too', async () => {
    const path = await openDnsPath({ allow: [{ host: '*.example.com' }] });
    expect(path.lookup('cmFuZG9t.example.com', 'TXT')).toBe(false);
    expect(path.records).toMatchObject([
      { sandbox: path.id, host: 'cmfuzg9t.example.com', path: '/TXT', code: 'method.not-allowed', verdict: 'refused' },
    ]);
  });
});
