import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, awsRegion, bedrockHost, bucketHost, startAwsGround } from '../support/aws-ground.ts';
import { runClient } from '../support/run-client.ts';

let ground: AwsGround;

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

function curl(service: string, ...args: string[]) {
  const { env } = ground;
  const user = `${env.AWS_ACCESS_KEY_ID}:${env.AWS_SECRET_ACCESS_KEY}`;
  const signed = ['--aws-sigv4', `aws:amz:${awsRegion}:${service}`, '--user', user];
  return runClient('curl', ['-sS', ...(service === '' ? [] : signed), ...args], { env });
}

describe('curl signs with the placeholder keys, over HTTP/1.1 and HTTP/2', () => {
  test.each(['--http1.1', '--http2'])('a question to a model, whose body has no hash (%s)', async (version) => {
    const url = `https://${bedrockHost}/model/a-model/invoke`;
    const run = await curl('bedrock', version, '-H', 'Content-Type: application/json', '-d', '{"prompt":"hi"}', url);
    expect(ground.aws.rejected).toEqual([]);
    expect(JSON.parse(run.stdout)).toEqual({ model: 'a-model', heard: { prompt: 'hi' } });
  });

  test('a refusal says what to do', async () => {
    const run = await curl('sts', `https://${bucketHost}/?Action=GetCallerIdentity`);
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'aws.scope', error: expect.stringContaining('"sts"') });
  });

  test('a public file needs no signature, and gets none', async () => {
    ground.aws.rejected.length = 0;
    await curl('', `https://${bucketHost}/public`);
    expect(ground.aws.rejected).toEqual(['no signature']);
    expect(ground.aws.seen.at(-1)!.headers.authorization).toBeUndefined();
  });
});
