import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, bedrockHost, bucketHost, startAwsGround } from '../../support/aws-ground.ts';

let ground: AwsGround;
const dynamoHost = 'dynamodb.eu-west-1.amazonaws.com';

beforeAll(async () => {
  ground = await startAwsGround([dynamoHost]);
});

afterAll(() => ground.stop());

describe('the keys sign for the service and the region of the host alone', () => {
  test('what belongs to the host passes', async () => {
    expect((await ground.send({ host: dynamoHost, service: 'dynamodb' })).statuses).toEqual([404]);
    expect(ground.aws.rejected).toEqual([]);
  });

  test.each([
    ['a bucket', bucketHost, 'dynamodb', 'eu-west-1'],
    ['a database', dynamoHost, 's3', 'eu-west-1'],
    ['a model', bedrockHost, 's3', 'eu-west-1'],
    ['a bucket, for another region', bucketHost, 's3', 'us-east-1'],
    ['a model, for no region', bedrockHost, 'bedrock', '..'],
  ])('at %s (%s) nothing is signed for %s in %s', async (_, host, service, region) => {
    const before = ground.aws.seen.length;
    const answer = await ground.send({ host, service, region, path: '/model/m/invoke' });
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.scope']);
    expect(ground.aws.seen.length).toBe(before);
  });

  test('what is signed is the host that is called, not the one that the client says', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/k' }, ({ fields }) => {
      for (const field of fields) if (field[0] === 'host') field[1] = dynamoHost;
    });
    expect(answer.code).toBe('mismatch.authority');
  });
});
