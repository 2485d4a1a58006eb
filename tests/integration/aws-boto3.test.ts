import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsGround, awsKeys, startAwsGround } from '../support/aws-ground.ts';

let ground: AwsGround;

beforeAll(async () => {
  ground = await startAwsGround();
});

afterAll(() => ground.stop());

describe('boto3 with placeholder keys works on S3 and Bedrock, which see only the real ones', () => {
  test('puts, gets and lists, under names with odd letters', async () => {
    const said = await ground.python<Record<string, unknown>>(`
key = "a folder/ünï (odd) +&=;:'~.txt"
s3.put_object(Bucket="bucket", Key=key, Body=b"hello", Metadata={"note": "two  spaces"}, ContentType="text/plain")
got = s3.get_object(Bucket="bucket", Key=key)["Body"].read().decode()
listed = [one["Key"] for one in s3.list_objects_v2(Bucket="bucket", Prefix="a folder/")["Contents"]]
try:
    s3.get_object(Bucket="bucket", Key="absent")
    absent = None
except ClientError as error:
    absent = error.response["ResponseMetadata"]["HTTPStatusCode"]
say(got=got, listed=listed, absent=absent)`);
    expect(ground.aws.rejected).toEqual([]);
    expect(said).toEqual({ got: 'hello', listed: ["a folder/ünï (odd) +&=;:'~.txt"], absent: 404 });
  });

  test('uploads from a stream, whose checksum comes in a trailer, and in parts', async () => {
    const said = await ground.python<{ back: boolean; parts: boolean }>(`
body = os.urandom(200_000)
s3.put_object(Bucket="bucket", Key="streamed", Body=io.BytesIO(body), ChecksumAlgorithm="SHA256")
back = s3.get_object(Bucket="bucket", Key="streamed")["Body"].read() == body
large = os.urandom(9 << 20)
s3.upload_fileobj(io.BytesIO(large), "bucket", "large", Config=boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
whole = s3.get_object(Bucket="bucket", Key="large")["Body"].read() == large
say(back=back, parts=whole)`);
    expect(ground.aws.rejected).toEqual([]);
    expect(said).toEqual({ back: true, parts: true });
  });

  test('makes presigned URLs that any client in the sandbox can use', async () => {
    const said = await ground.python<{ url: string; got: string; put: number }>(`
context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
def fetch(url, method, data=None):
    return urllib.request.urlopen(urllib.request.Request(url, method=method, data=data), context=context)
where = {"Bucket": "bucket", "Key": "pre signed"}
put = fetch(s3.generate_presigned_url("put_object", Params=where, ExpiresIn=604800), "PUT", b"by url").status
url = s3.generate_presigned_url("get_object", Params={**where, "ResponseContentType": "text/plain"}, ExpiresIn=604800)
say(url=url, put=put, got=fetch(url, "GET").read().decode())`);
    expect(ground.aws.rejected).toEqual([]);
    expect(said).toMatchObject({ put: 200, got: 'by url' });
    expect(said.url).toContain('AKIASALLYPORT0000000');
  });

  test('asks a model, whose name is encoded twice in what is signed', async () => {
    const said = await ground.python<Record<string, unknown>>(`
answer = bedrock.invoke_model(modelId="anthropic.claude-sonnet-4-5-20250929-v1:0", body=json.dumps({"prompt": "hi"}))
say(**json.loads(answer))`);
    expect(ground.aws.rejected).toEqual([]);
    expect(said).toEqual({ model: 'anthropic.claude-sonnet-4-5-20250929-v1:0', heard: { prompt: 'hi' } });
  });

  test('and no part of the real keys was on its side of the door', async () => {
    const journal = JSON.stringify(await ground.gateway.journal());
    expect(journal).toContain('"credential":"aws"');
    for (const part of [awsKeys.secretAccessKey, awsKeys.sessionToken!]) expect(journal).not.toContain(part);
    for (const { headers } of ground.aws.seen) expect(JSON.stringify(headers)).not.toContain('AKIASALLYPORT');
  });
});
