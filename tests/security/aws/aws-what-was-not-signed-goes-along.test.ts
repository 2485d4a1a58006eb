import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, bucketHost, startAwsGround } from '../../support/aws-ground.ts';

let ground: AwsGround;

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

describe('nothing that matters to AWS goes along without a signature over it', () => {
  test.each([
    ['x-amz-acl', 'public-read'],
    ['x-amz-copy-source', '/other/secret'],
    ['x-amz-server-side-encryption-customer-key', 'k'],
  ])('the header %s that the client has not signed', async (name, value) => {
    const answer = await ground.send(
      { host: bucketHost, method: 'PUT', path: '/k', body: Buffer.from('x') },
      ({ fields }) => {
        fields.push([name, value]);
      },
    );
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.signature']);
    expect(ground.aws.seen).toEqual([]);
  });

  test('a list of signed headers without host', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/k' }, ({ fields }) => {
      for (const field of fields) field[1] = field[1].replace('SignedHeaders=host;', 'SignedHeaders=');
    });
    expect(answer.code).toBe('aws.signature');
  });

  test('a body that is not the one of its hash is not taken by AWS', async () => {
    const request = { host: bucketHost, method: 'PUT', path: '/k', body: Buffer.from('changed') };
    const answer = await ground.send({ ...request, headers: { 'x-amz-content-sha256': '0'.repeat(64) } });
    expect(answer.statuses).toEqual([403]);
    expect(ground.aws.rejected).toEqual(['body hash']);
    expect(ground.aws.objects.size).toBe(0);
  });
});
