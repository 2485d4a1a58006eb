// DNS over TCP has no datagrams that get lost: thousands of questions come in one piece, and to refuse each of them costs as
// much as to answer it. Past a few hundred refusals there is none, and the connection ends.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type DnsGround, framed, openDnsGround, questionOf, readReply } from '../../support/dns-ground.ts';

const questions = 4_000;
const refused = 5;
let ground: DnsGround;

afterEach(async () => {
  await ground.close();
});

/** Asks so many questions at once, and reads until the connection ends or all are answered: how many were. */
async function flood(socket: Socket): Promise<number> {
  const answerBytes = framed(questionOf('a.b')).length;
  let bytes = 0;
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    // Allowed ones are longer: what counts is that the end is seen where nothing is held back.
    if (bytes >= questions * answerBytes) socket.destroy();
  });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(Buffer.concat(Array(questions).fill(framed(questionOf('a.b')))));
  await closed;
  return Math.floor(bytes / answerBytes);
}

test('a sandbox that asks without end loses its connection, whichever of them it asks on', async () => {
  ground = await openDnsGround();
  let answers = 0;
  for (let n = 0; n < 20; n++) answers += await flood(await ground.tcp());
  // 200 answers, 256 refusals and 100 a second of each: far below the 80,000 that were asked, on any machine.
  expect(answers).toBeLessThan(20_000);
  expect(ground.floods).toHaveLength(1);
});

test('who is over the limit by a little is refused in words, and the connection stays', async () => {
  ground = await openDnsGround();
  const socket = await ground.tcp();
  const rcodes: number[] = [];
  for (let n = 0; n < 300; n++) {
    socket.write(framed(questionOf('a.b')));
    const [reply] = (await once(socket, 'data')) as [Buffer];
    rcodes.push(readReply(reply.subarray(2)).rcodeNumber);
  }
  expect(rcodes).toHaveLength(300);
  expect(rcodes.filter((rcode) => rcode === refused).length).toBe(300 - ground.lookups.length);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});
