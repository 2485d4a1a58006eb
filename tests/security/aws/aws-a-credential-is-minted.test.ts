import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, startAwsGround } from '../../support/aws-ground.ts';

let ground: AwsGround;
/** An operator who allows too much: every one of these is reachable. */
const hosts = [
  'sts.eu-west-1.amazonaws.com',
  'sts.amazonaws.com',
  'iam.amazonaws.com',
  'cognito-identity.eu-west-1.amazonaws.com',
  'portal.sso.eu-west-1.amazonaws.com',
  'secretsmanager.eu-west-1.amazonaws.com',
  'api.ecr.eu-west-1.amazonaws.com',
  's3-control.eu-west-1.amazonaws.com',
  'a--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com',
];

beforeAll(async () => {
  ground = await startAwsGround(hosts);
});

afterAll(() => ground.stop());

describe('no service is asked with the real keys that would answer with a credential', () => {
  test.each(hosts)('%s', async (host) => {
    const label = host.split('.')[0]!;
    for (const service of [label, 'sts', 's3', 's3express']) {
      const region = host.includes('us-east-1') ? 'us-east-1' : 'eu-west-1';
      const body = Buffer.from('Action=AssumeRole&RoleArn=arn:aws:iam::123456789012:role/admin&RoleSessionName=x');
      const answer = await ground.send({ host, service, region, method: 'POST', body });
      expect([answer.statuses, answer.code]).toEqual([[403], 'aws.scope']);
    }
    expect(ground.aws.seen).toEqual([]);
  });

  test('a request that says it is for S3 and is for STS', async () => {
    const answer = await ground.send({
      host: 'sts.eu-west-1.amazonaws.com',
      expiresIn: 60,
      query: { Action: 'GetSessionToken' },
    });
    expect(answer.code).toBe('aws.scope');
    expect(ground.aws.seen).toEqual([]);
  });
});
