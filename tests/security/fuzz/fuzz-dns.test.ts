// DNS messages, damaged: the reader answers or keeps silent, never throws; what it answers fits the question; and the door
// behind it, over UDP and TCP, still answers an honest question after all of them.
import { decode } from 'dns-packet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerQuery } from '../../../src/stages/accept/dns/dns-answer.ts';
import { readQuery } from '../../../src/stages/accept/dns/dns-query.ts';
import { type DnsGround, openDnsGround, questionOf } from '../../support/dns-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';

reportFuzz('DNS');

const questions = [
  questionOf('api.example'),
  questionOf('API.Example', 'AAAA', { edns: true }),
  questionOf('a.very.long.name.of.many.labels.example', 'TXT', { edns: true }),
  questionOf('api.example', 'ANY'),
  questionOf('.', 'NS'),
  questionOf('1.0.0.127.in-addr.arpa', 'PTR'),
  questionOf('api.example', 4711),
  // A name that points at itself, and one that points into the header.
  Buffer.concat([questionOf('x').subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])]),
  Buffer.concat([questionOf('x').subarray(0, 12), Buffer.from([1, 0x61, 0xc0, 0, 0, 1, 0, 1])]),
];

let ground: DnsGround;

beforeAll(async () => {
  ground = await openDnsGround((name) => name === 'api.example');
});

afterAll(() => ground.close());

describe('a damaged DNS message', () => {
  test('is answered in kind, turned away or passed over in silence', { timeout: fuzzTimeoutMs }, () => {
    let answered = 0;
    fuzz(mutated(questions), 6_000, (message) => {
      const asked: string[] = [];
      const reply = answerQuery(message, (name) => {
        asked.push(name);
        return name.toLowerCase() === 'api.example';
      });
      const reading = readQuery(message);
      if (reading.kind === 'silence') expect(reply).toBeNull();
      if (reply === null) return;
      expect(reply.subarray(0, 2)).toEqual(message.subarray(0, 2));
      const packet = decode(reply);
      expect(packet.type).toBe('response');
      if ((packet.answers ?? []).length > 0) answered++;
      for (const answer of packet.answers ?? []) {
        expect(asked.map((name) => name.toLowerCase()).concat('localhost')).toContain(
          answer.name.toLowerCase().split('.').slice(-2).join('.'),
        );
      }
      // A name that may not be known has no address.
      if (reading.kind === 'question' && !/^(api\.example|(.*\.)?localhost)$/i.test(reading.name))
        expect(packet.answers ?? []).toEqual([]);
    });
    expect(answered).toBeGreaterThan(10);
  });

  test('does not close the door over UDP', { timeout: fuzzTimeoutMs }, async () => {
    await fuzzSlowly(mutated(questions), 150, async (message) => {
      await ground.udp(message, readQuery(message).kind === 'silence' ? 1 : 2_000);
    });
    const id = 0x4242;
    await eventually(
      async () => (await ground.udp(questionOf('api.example', 'A', { id })))?.readUInt16BE(0) === id,
      'an honest answer',
    );
  });

  test('does not close the door over TCP, with lengths that lie', { timeout: fuzzTimeoutMs }, async () => {
    const framed = questions.map((message) =>
      Buffer.concat([Buffer.from([message.length >> 8, message.length & 0xff]), message]),
    );
    await fuzzSlowly(mutated([...framed, Buffer.concat(framed)]), 60, async (bytes) => {
      const socket = await ground.tcp();
      socket.on('error', () => {});
      await new Promise<void>((resolve) => socket.end(bytes, () => resolve()));
      socket.resume();
      await new Promise<void>((resolve) => {
        socket.on('close', () => resolve());
        setTimeout(() => socket.destroy(), 1_000).unref();
      });
    });
    const id = 0x4243;
    await eventually(
      async () => (await ground.udp(questionOf('api.example', 'A', { id })))?.readUInt16BE(0) === id,
      'an honest answer',
    );
  });
});
