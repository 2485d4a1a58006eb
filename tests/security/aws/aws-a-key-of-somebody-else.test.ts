import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, bucketHost, startAwsGround } from '../../support/aws-ground.ts';
import { clientFlow } from '../../unit/stages/inject/aws/sigv4-ground.ts';

let ground: AwsGround;
const theirs = {
  accessKeyId: 'AKIATHEIRSTHEIRS0001',
  secretAccessKey: 'their/own/key0123456789',
  sessionToken: 'their-token',
};

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

describe('no other AWS key than ours is used through the door, by whatever way it comes', () => {
  test.each<[string, number | undefined]>([
    ['in a header', undefined],
    ['in the query', 600],
  ])('%s', async (_, expiresIn) => {
    const request = { host: bucketHost, path: '/k', keys: theirs, ...(expiresIn && { expiresIn }) };
    const answer = await ground.send(request);
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.signature']);
    expect(ground.aws.seen).toEqual([]);
  });

  test.each([
    ['a second signature in the query', '?X-Amz-Signature=00'],
    ['one in another spelling', '?x-amz-%63redential=AKIATHEIRSTHEIRS0001'],
    ['Signature Version 2 in the query', '?AWSAccessKeyId=AKIATHEIRSTHEIRS0001&Signature=x&Expires=1'],
  ])('beside the placeholder: %s', async (_, query) => {
    const answer = await ground.send({ host: bucketHost, path: '/k' }, (head) => {
      head.target += query;
    });
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.signature']);
    expect(ground.aws.seen).toEqual([]);
  });

  test('beside the placeholder: one whole signature in the query and another in a header', async () => {
    const { request } = await clientFlow({ host: bucketHost, path: '/k', keys: theirs });
    const answer = await ground.send({ host: bucketHost, path: '/k', expiresIn: 600 }, ({ fields }) => {
      fields.push(['Authorization', request.headers.get('authorization')!]);
    });
    expect([answer.statuses, answer.code]).toEqual([[403], 'aws.signature']);
    expect(ground.aws.seen).toEqual([]);
  });

  test('beside the placeholder: a second Authorization', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/k' }, ({ fields }) => {
      fields.push(['Authorization', 'AWS AKIATHEIRSTHEIRS0001:c2ln']);
    });
    expect(answer.statuses.every((status) => status >= 400)).toBe(true);
    expect(ground.aws.seen).toEqual([]);
  });

  test('beside the placeholder: their session token is dropped', async () => {
    const answer = await ground.send({ host: bucketHost, path: '/k' }, ({ fields }) => {
      fields.push(['X-Amz-Security-Token', 'their-token']);
    });
    expect(answer.statuses).toEqual([404]);
    expect(JSON.stringify(ground.aws.seen)).not.toContain('their-token');
    ground.aws.seen.length = 0;
  });

  test('in the body of a form', async () => {
    const body = Buffer.from('--x\r\nContent-Disposition: form-data; name="X-Amz-Signature"\r\n\r\n00\r\n--x--\r\n');
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const answer = await ground.send({ host: bucketHost, method: 'POST', headers, body }, ({ fields }) => {
      fields.splice(
        fields.findIndex(([name]) => name === 'authorization'),
        1,
      );
    });
    expect(answer.code).toBe('aws.signature');
    expect(ground.aws.seen).toEqual([]);
  });
});
