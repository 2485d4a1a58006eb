// A gateway before a pretend AWS, and real AWS clients (boto3) behind it that have placeholder keys and nothing else.
import { placeholderVariables } from '../../src/sandbox/stubs/placeholders.ts';
import { type ClientRequest, clientFlow } from '../unit/stages/inject/aws/sigv4-ground.ts';
import { clientEnvironment } from './client-environment.ts';
import { type PretendAws, type RealKeys, startPretendAws } from './pretend-aws.ts';
import { type RawAnswer, sendTunnelled } from './raw-client.ts';
import { runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const awsRegion = 'eu-west-1';
export const bucketHost = 'bucket.s3.eu-west-1.amazonaws.com';
export const bedrockHost = 'bedrock-runtime.eu-west-1.amazonaws.com';
export const awsKeys: RealKeys = {
  accessKeyId: 'ASIAREALREALREAL0001',
  secretAccessKey: 'real/secret+access/key0123456789abcdefgh',
  sessionToken: 'FwoGZXIvYXdzEreal/session+token//////////==',
};

export interface RequestHead {
  target: string;
  readonly fields: [string, string][];
}

export interface AwsGround {
  readonly aws: PretendAws;
  readonly gateway: TestGateway;
  /** Runs Python with `s3`, a client of boto3, and `bedrock`, which signs as one; gives back what it prints, read as JSON. */
  python<Result>(script: string): Promise<Result>;
  readonly env: Record<string, string>;
  /** Sends a signed request; `change` may alter it on its way to the wire, when the signature is made. */
  send(request: ClientRequest, change?: (head: RequestHead) => void): Promise<RawAnswer>;
  stop(): Promise<void>;
}

/** `more`: other AWS hosts that are allowed and have the credential. */
export async function startAwsGround(more: readonly string[] = []): Promise<AwsGround> {
  // The global name is what boto3 presigns for.
  const hosts = [`s3.${awsRegion}.amazonaws.com`, bucketHost, 'bucket.s3.amazonaws.com', bedrockHost, ...more];
  const ca = makeTestCa();
  const aws = await startPretendAws(ca, [...hosts, 'elsewhere.example'], awsKeys);
  const gateway = await startTestGateway({
    allow: [{ preset: 'bedrock' }, { preset: 's3' }, ...[...more, 'elsewhere.example'].map((host) => ({ host }))],
    upstream: {
      resolve: Object.fromEntries([...hosts, 'elsewhere.example'].map((host) => [host, aws.address])),
      ca: ca.path,
    },
  });
  await gateway.register();
  const { accessKeyId, secretAccessKey, sessionToken } = awsKeys;
  await gateway.setSecret('aws', `${accessKeyId}:${secretAccessKey}:${sessionToken}`);
  const env = {
    ...clientEnvironment(gateway),
    ...placeholderVariables(new Set(['aws'])),
    AWS_CA_BUNDLE: gateway.caPath,
    AWS_REGION: awsRegion,
    AWS_DEFAULT_REGION: awsRegion,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_MAX_ATTEMPTS: '1',
  };
  return {
    aws,
    gateway,
    env,
    async python<Result>(script: string) {
      const run = await runClient('/usr/bin/python3', ['-c', prelude + script], { env });
      if (run.code !== 0) throw new Error(run.stderr.slice(-2000));
      return JSON.parse(run.stdout) as Result;
    },
    async send(request, change) {
      const { canonical, request: sent } = await clientFlow(request);
      const { host, rawPath, query, method } = canonical;
      const fields = sent.headers.keys.map((key, i): [string, string] => [key, sent.headers.values[i]!]);
      const head: RequestHead = { target: query === null ? rawPath : `${rawPath}?${query}`, fields };
      change?.(head);
      const lines = head.fields.map(([name, value]) => `${name}: ${value}\r\n`);
      const text = `${method} ${head.target} HTTP/1.1\r\n${lines.join('')}connection: close\r\n\r\n`;
      return sendTunnelled(gateway, host, Buffer.concat([Buffer.from(text), request.body ?? Buffer.alloc(0)]));
    },
    async stop() {
      await gateway.stop();
      await aws.close();
    },
  };
}

const prelude = `
import boto3, boto3.s3.transfer, json, io, urllib.parse, urllib.request, ssl, os
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from botocore.config import Config
from botocore.exceptions import ClientError
s3 = boto3.client("s3", config=Config(s3={"addressing_style": "virtual"}, signature_version="s3v4"))
# As its client for Bedrock signs and sends; the client itself is younger than what Debian has.
class Bedrock:
    def invoke_model(self, modelId, body):
        url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/" + urllib.parse.quote(modelId, safe="") + "/invoke"
        request = AWSRequest("POST", url, data=body, headers={"Content-Type": "application/json", "Accept": "application/json"})
        SigV4Auth(boto3.Session().get_credentials(), "bedrock", "eu-west-1").add_auth(request)
        proxies = {"https": os.environ["HTTPS_PROXY"]}
        return URLLib3Session(verify=os.environ["AWS_CA_BUNDLE"], proxies=proxies).send(request.prepare()).text
bedrock = Bedrock()
def say(**what): print(json.dumps(what))
`;
