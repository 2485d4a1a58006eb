import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, awsKeys, bucketHost, startAwsGround } from '../../support/aws-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AwsGround;

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

const plain = 'GET /k HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n';

describe('neither half of a signature gets to where it does not belong', () => {
  test('the other host can be reached without one', async () => {
    const answer = await sendTunnelled(ground.gateway, 'elsewhere.example', plain);
    // What answers there is the pretend AWS, which wants a signature.
    expect(answer.text).toContain('no signature');
    ground.aws.seen.length = 0;
  });

  test('a URL signed with the placeholder does not leave for another host', async () => {
    const answer = await ground.send({ host: 'elsewhere.example', path: '/k', expiresIn: 600 });
    expect([answer.statuses, answer.code]).toEqual([[403], 'secret.placeholder-misplaced']);
    expect(ground.aws.seen).toEqual([]);
  });

  test('nor does a header that is signed with it', async () => {
    const answer = await ground.send({ host: 'elsewhere.example', path: '/k' });
    expect([answer.statuses, answer.code]).toEqual([[403], 'secret.placeholder-misplaced']);
    expect(ground.aws.seen).toEqual([]);
  });

  test('what AWS echoes of the real keys does not reach the sandbox', async () => {
    ground.aws.objects.set('bucket/echo', Buffer.from(JSON.stringify(awsKeys)));
    const answer = await ground.send({ host: bucketHost, path: '/echo' });
    expect(answer.statuses).toEqual([200]);
    expect(answer.text).toContain('accessKeyId');
    expect(answer.text).not.toContain(awsKeys.secretAccessKey);
    expect(answer.text).not.toContain(awsKeys.sessionToken);
  });
});
