import { encode } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../../../src/kit/synthetic-address.ts';
import { answerQuery, refuseQuery } from '../../../../../src/stages/accept/dns/dns-answer.ts';
import { addressesIn, questionOf, readReply } from '../../../../support/dns-ground.ts';

const rcode = { noError: 0, formErr: 1, servFail: 2, nxDomain: 3, notImp: 4, refused: 5 };
const isAllowed = (name: string): boolean => name.toLowerCase() === 'api.example.com';
const { v4, v6 } = syntheticAddresses('api.example.com');

function ask(message: Buffer): ReturnType<typeof readReply> {
  return readReply(answerQuery(message, isAllowed));
}

describe('a name that may be known has its synthetic address', () => {
  test('on A and on AAAA, for a minute', () => {
    expect(ask(questionOf('api.example.com')).answers).toMatchObject([
      { name: 'api.example.com', type: 'A', data: v4, ttl: 60 },
    ]);
    const reply = answerQuery(questionOf('api.example.com', 'AAAA'), isAllowed);
    expect(readReply(reply).answers).toMatchObject([{ type: 'AAAA', ttl: 60 }]);
    // The library writes zeroes in its own way: the last 16 bytes are the address.
    expect(
      reply
        ?.subarray(-16)
        .toString('hex')
        .match(/.{4}/g)
        ?.map((group) => Number.parseInt(group, 16)),
    ).toEqual(v6.split(':').map((group) => Number.parseInt(group, 16)));
  });

  test('the question comes back in the mix of cases in which it was asked', () => {
    const message = questionOf('aPi.ExAmPle.CoM', 'A', { id: 0xbeef });
    const reply = answerQuery(message, isAllowed);
    expect(addressesIn(reply)).toEqual([v4]);
    expect(reply?.subarray(12, message.length)).toEqual(message.subarray(12));
    expect(readReply(reply).id).toBe(0xbeef);
  });

  test.each(['NS', 'SOA', 'MX', 'PTR', 'HTTPS'] as const)('there is no %s record of it, and no error', (type) => {
    expect(ask(questionOf('api.example.com', type))).toMatchObject({
      rcodeNumber: rcode.noError,
      answers: [],
      authorities: [{ type: 'SOA', name: '.' }],
    });
  });

  test('a resolver is told that we are one, so that an empty answer is believed', () => {
    expect(ask(questionOf('api.example.com', 'MX'))).toMatchObject({ flag_qr: true, flag_ra: true, flag_rd: true });
    expect(ask(questionOf('api.example.com', 'A', { flags: 0x0030 }))).toMatchObject({
      flag_rd: false,
      flag_cd: true,
      flag_ad: false,
      flag_tc: false,
      flag_aa: false,
    });
  });
});

describe('every other name does not exist', () => {
  test.each(['other.example.com', 'example.com', 'api.example.com.lan', 'xapi.example.com', 'com', 'a b.example.com'])(
    '%s',
    (name) => {
      for (const type of ['A', 'AAAA', 'MX'] as const) {
        expect(ask(questionOf(name, type))).toMatchObject({
          rcodeNumber: rcode.nxDomain,
          answers: [],
          authorities: [{ type: 'SOA', name: '.', ttl: 5 }],
        });
      }
    },
  );

  test('nor does any address have a name, and nobody is told that it was asked', () => {
    const asked: string[] = [];
    for (const name of ['1.0.18.198.in-addr.arpa', '1.0.0.ip6.arpa']) {
      const reply = answerQuery(questionOf(name, 'PTR'), (one) => asked.push(one) > 0);
      expect(readReply(reply).rcodeNumber).toBe(rcode.nxDomain);
    }
    expect(asked).toEqual([]);
  });

  test('but the root does, without which there would be no name at all', () => {
    expect(ask(questionOf('.', 'NS'))).toMatchObject({ rcodeNumber: rcode.noError, answers: [] });
  });

  test.each(['localhost', 'LOCALHOST', 'app.localhost'])(
    '%s is the sandbox itself, whatever the policy says',
    (name) => {
      expect(addressesIn(answerQuery(questionOf(name), () => false))).toEqual(['127.0.0.1']);
      expect(addressesIn(answerQuery(questionOf(name, 'AAAA'), () => false))).toEqual(['::1']);
      expect(ask(questionOf(name, 'MX'))).toMatchObject({ rcodeNumber: rcode.noError, answers: [] });
    },
  );

  test('a decision that fails tells nothing', () => {
    const reply = answerQuery(questionOf('api.example.com'), () => {
      throw new Error('broken');
    });
    expect(readReply(reply)).toMatchObject({ rcodeNumber: rcode.servFail, answers: [] });
  });
});

describe('what is no plain question is turned away', () => {
  const good = questionOf('api.example.com');
  const changed = (at: number, ...bytes: number[]): Buffer => {
    const copy = Buffer.from(good);
    Buffer.from(bytes).copy(copy, at);
    return copy;
  };
  const withOpt = questionOf('api.example.com', 'A', { edns: true });

  test.each([
    ['an opcode other than QUERY', changed(2, 0x10, 0), rcode.notImp],
    ['UPDATE', changed(2, 0x28, 0), rcode.notImp],
    ['no question', changed(4, 0, 0).subarray(0, 12), rcode.formErr],
    ['two questions', Buffer.concat([changed(4, 0, 2), good.subarray(12)]), rcode.formErr],
    ['65535 questions', changed(4, 255, 255), rcode.formErr],
    ['an answer section', changed(6, 0, 1), rcode.formErr],
    ['an authority section', changed(8, 0, 1), rcode.formErr],
    ['additional records that are not there', changed(10, 0, 1), rcode.formErr],
    ['a message that is cut short', good.subarray(0, -1), rcode.formErr],
    ['bytes after its end', Buffer.concat([good, Buffer.from('x')]), rcode.formErr],
    ['a label longer than 63 bytes', changed(12, 64), rcode.formErr],
    ['a name that points at itself', changed(12, 0xc0, 12), rcode.formErr],
    [
      'a name that points into the header',
      Buffer.concat([good.subarray(0, 12), Buffer.from([0xc0, 4, 0, 1, 0, 1])]),
      rcode.formErr,
    ],
    ['a label with a dot inside', changed(12, 15, ...Buffer.from('api.example.com')), rcode.formErr],
    ['a label that is no text', changed(13, 0xff), rcode.formErr],
    ['more than 4 KiB', Buffer.concat([good, Buffer.alloc(4096)]), rcode.formErr],
    ['the class CHAOS', changed(good.length - 2, 0, 3), rcode.notImp],
    ['the class ANY', changed(good.length - 2, 0, 255), rcode.notImp],
    ['the class IN with the flag of multicast DNS', changed(good.length - 2, 0x80, 1), rcode.notImp],
    ['two OPT records', twoOptions(withOpt), rcode.formErr],
    ['an OPT record that has a name', namedOption(), rcode.formErr],
    ['more than 4 KiB of an EDNS option', paddedOption(4096), rcode.formErr],
    ['a SOA record, as if it asked for changes since', withAuthority(), rcode.formErr],
  ])('%s', (_what, message, expected) => {
    const reply = answerQuery(message, () => true);
    expect(readReply(reply)).toMatchObject({ id: 7, rcodeNumber: expected, answers: [] });
  });

  test('an EDNS option of a usual size is no reason', () => {
    expect(readReply(answerQuery(paddedOption(400), () => true))).toMatchObject({ rcodeNumber: rcode.noError });
  });

  test('an answer is not answered, nor is what is too short to be a question', () => {
    expect(answerQuery(changed(2, 0x81, 0x80), () => true)).toBeNull();
    expect(answerQuery(good.subarray(0, 11), () => true)).toBeNull();
    expect(answerQuery(Buffer.alloc(0), () => true)).toBeNull();
    expect(refuseQuery(changed(2, 0x80, 0))).toBeNull();
  });

  test('a version of EDNS that does not exist yet is answered BADVERS', () => {
    const message = Buffer.from(withOpt);
    message.writeUInt8(1, message.length - 5);
    expect(readReply(answerQuery(message, () => true))).toMatchObject({
      rcodeNumber: 0,
      answers: [],
      additionals: [{ type: 'OPT', extendedRcode: 1, ednsVersion: 0 }],
    });
  });

  function paddedOption(bytes: number): Buffer {
    const length = Buffer.alloc(6);
    length.writeUInt16BE(bytes + 4, 0);
    length.writeUInt16BE(12, 2);
    length.writeUInt16BE(bytes, 4);
    return Buffer.concat([withOpt.subarray(0, -2), length, Buffer.alloc(bytes)]);
  }

  function namedOption(): Buffer {
    return Buffer.concat([withOpt.subarray(0, -11), Buffer.from([1, 0x61]), withOpt.subarray(-11)]);
  }

  function withAuthority(): Buffer {
    const soa = { type: 'SOA', name: 'example.com', data: { mname: 'a.example', rname: 'b.example' } } as const;
    const record = encode({ authorities: [soa] }).subarray(12);
    const message = Buffer.concat([good, record]);
    message.writeUInt16BE(1, 8);
    return message;
  }

  function twoOptions(message: Buffer): Buffer {
    const twice = Buffer.concat([message, message.subarray(-11)]);
    twice.writeUInt16BE(2, 10);
    return twice;
  }
});

describe('EDNS is answered with EDNS', () => {
  test('an OPT record of ours, only when there was one', () => {
    const options = { type: 'OPT', udpPayloadSize: 1232, options: [] };
    expect(ask(questionOf('api.example.com', 'A', { edns: true })).additionals).toMatchObject([options]);
    expect(ask(questionOf('nowhere.example', 'A', { edns: true })).additionals).toMatchObject([options]);
    expect(ask(questionOf('api.example.com')).additionals).toEqual([]);
  });
});

describe('whatever bytes come', () => {
  const longName = [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.');

  test('the longest name there is fits into 512 bytes, the least that every client takes', () => {
    for (const edns of [true, false]) {
      for (const type of ['A', 'AAAA', 'MX', 'TXT'] as const) {
        const message = questionOf(longName, type, { edns });
        for (const isKnown of [true, false]) {
          const reply = answerQuery(message, () => isKnown);
          expect(reply?.length).toBeLessThanOrEqual(512);
          expect(readReply(reply).questions?.[0]?.name).toBe(longName);
        }
      }
    }
  });

  test('nothing is thrown, an answer can be read, has the id of its question, and is never a question', () => {
    const messages = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      // Near a real question: the bytes that are reached only when the rest is in order.
      fc
        .tuple(
          fc.boolean(),
          fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }),
          fc.uint8Array({ maxLength: 8 }),
        )
        .map(([edns, changes, tail]) => {
          const message = questionOf('api.example.com', 'A', { edns });
          for (const [at, byte] of changes) if (at < message.length) message[at] = byte;
          return Buffer.concat([message, tail]);
        }),
    );
    fc.assert(
      fc.property(messages, fc.boolean(), (bytes, isKnown) => {
        const message = Buffer.from(bytes);
        for (const reply of [answerQuery(message, () => isKnown), refuseQuery(message)]) {
          if (reply === null) {
            expect(message.length < 12 || message[2]! >= 0x80).toBe(true);
            continue;
          }
          const read = readReply(reply);
          expect(read.id).toBe(message.readUInt16BE(0));
          expect(read.flag_qr).toBe(true);
          expect(read.flag_tc).toBe(false);
          expect(reply.length).toBeLessThanOrEqual(512);
          expect(answerQuery(reply, () => isKnown)).toBeNull();
        }
      }),
      { numRuns: 1500 },
    );
  });
});
