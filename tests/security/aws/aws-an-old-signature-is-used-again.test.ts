import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, bucketHost, startAwsGround } from '../../support/aws-ground.ts';

let ground: AwsGround;
const minutes = (count: number): Date => new Date(Date.now() + count * 60_000);

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

describe('the gateway signs for now: neither for a request of the past nor for one of the future', () => {
  test('within a quarter of an hour a request passes', async () => {
    for (const at of [minutes(-10), minutes(10)]) {
      expect((await ground.send({ host: bucketHost, path: '/absent', at })).statuses).toEqual([404]);
    }
    expect(ground.aws.rejected).toEqual([]);
  });

  test.each([-20, -24 * 60, 20, 24 * 60])('a request signed %i minutes from now does not', async (count) => {
    const before = ground.aws.seen.length;
    const answer = await ground.send({ host: bucketHost, path: '/absent', at: minutes(count) });
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.signature']);
    expect(ground.aws.seen.length).toBe(before);
  });

  test('a URL that has ended is not made good for longer', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/absent', at: minutes(-20), expiresIn: 600 });
    expect(answer.code).toBe('aws.signature');
  });

  test('a URL cannot be good for longer than a week, whatever it says', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/absent', expiresIn: 600 }, (head) => {
      head.target = head.target.replace('X-Amz-Expires=600', 'X-Amz-Expires=99999999');
    });
    expect(answer.code).toBe('aws.signature');
  });
});
