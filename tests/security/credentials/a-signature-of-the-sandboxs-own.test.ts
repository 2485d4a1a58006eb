// Must not happen: the sandbox has a body signed that is not the one that goes out, or its own signature or time goes out.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPlacesGround, type PlacesGround, realValues, typedBody } from '../../support/places-ground.ts';

let ground: PlacesGround;

beforeAll(async () => {
  ground = await openPlacesGround();
});

afterAll(() => ground.stop());

const field = (name: string): string[] =>
  [...ground.upstream.requests[0]!.head.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))].map((match) => match[1]!);

function expectSigned(): void {
  const [time, ...moreTimes] = field('x-slack-request-timestamp');
  const [signature, ...moreSignatures] = field('x-slack-signature');
  expect([moreTimes, moreSignatures]).toEqual([[], []]);
  expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(300);
  const { body } = ground.upstream.requests[0]!;
  const expected = createHmac('sha256', realValues.events).update(`v0:${time}:`).update(body, 'latin1').digest('hex');
  expect(signature).toBe(`v0=${expected}`);
}

test('what goes out is what is signed, at this time, whatever the sandbox says of itself', async () => {
  const own = 'X-Slack-Signature: v0=own\r\nX_Slack_Signature: v0=own\r\nX-Slack-Request-Timestamp: 1\r\n';
  const sent = typedBody('{"text":"héllo"}', 'application/json');
  const answer = await ground.send('slack.example', 'POST /hook HTTP/1.1', Buffer.concat([Buffer.from(own), sent]));
  expect(answer.statuses).toEqual([200]);
  expect(ground.upstream.bytes).not.toContain('v0=own');
  expect(ground.upstream.bytes).not.toContain(realValues.events);
  expectSigned();
});

test('chunks are put together, and a body that is not there is signed as none', async () => {
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
  await ground.send('slack.example', 'POST /hook HTTP/1.1', chunked);
  expect(ground.upstream.requests[0]!.body).toBe('abcde');
  expectSigned();
  await ground.send('slack.example', 'GET /hook HTTP/1.1');
  expectSigned();
});

test('a body over the bound is not signed', async () => {
  const answer = await ground.send('slack.example', 'POST /hook HTTP/1.1', typedBody('x'.repeat(5000), 'text/plain'));
  expect([answer.statuses, answer.code]).toEqual([[413], 'limit.body-size']);
  expect(ground.upstream.bytes).toBe('');
});
