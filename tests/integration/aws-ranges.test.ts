import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, startAwsGround } from '../support/aws-ground.ts';

let ground: AwsGround;

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

describe('a large object is downloaded in parts, as boto3 does it by itself', () => {
  test('and is what it was: a part is answered with that part', async () => {
    const object = randomBytes(11 << 20);
    ground.aws.objects.set('bucket/large', object);
    const said = await ground.python<{ bytes: number; hash: string }>(`
import hashlib
into = io.BytesIO()
parts = boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
s3.download_fileobj("bucket", "large", into, Config=parts)
say(bytes=len(into.getvalue()), hash=hashlib.sha256(into.getvalue()).hexdigest())`);
    expect(ground.aws.rejected).toEqual([]);
    expect(said).toEqual({ bytes: object.length, hash: createHash('sha256').update(object).digest('hex') });
  });
});
