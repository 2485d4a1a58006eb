import { describe, expect, test } from 'vitest';
import { checkScope, endpointOf } from '../../../../../src/stages/inject/aws/aws-endpoint.ts';
import { refusalOf } from '../../../../support/hand-made-flow.ts';

describe('an AWS host says which service and region a signature must be for', () => {
  test.each([
    ['bedrock-runtime.us-east-1.amazonaws.com', 'bedrock', 'us-east-1'],
    ['bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'bedrock', 'us-gov-west-1'],
    ['bedrock-runtime.eu-central-1.api.aws', 'bedrock', 'eu-central-1'],
    ['bedrock.us-west-2.amazonaws.com', 'bedrock', 'us-west-2'],
    ['dynamodb.eu-west-1.amazonaws.com', 'dynamodb', 'eu-west-1'],
    ['runtime.sagemaker.eu-west-1.amazonaws.com', 'sagemaker', 'eu-west-1'],
    ['dynamodb.cn-north-1.amazonaws.com.cn', 'dynamodb', 'cn-north-1'],
    ['s3.eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
    ['bucket.s3.eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
    ['a.bucket.of.dots.s3.eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
    ['bucket.s3.dualstack.eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
    ['bucket.s3-fips.us-east-1.amazonaws.com', 's3', 'us-east-1'],
    ['bucket.s3-eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
    ['point-123456789012.s3-accesspoint.us-west-2.amazonaws.com', 's3', 'us-west-2'],
    ['s3.amazonaws.com', 's3', null],
    ['bucket.s3.amazonaws.com', 's3', null],
    ['bucket.s3-accelerate.amazonaws.com', 's3', null],
    ['sts.s3.eu-west-1.amazonaws.com', 's3', 'eu-west-1'],
  ])('%s', (host, service, region) => {
    expect(endpointOf(host)).toEqual({ service, region });
    expect(() => checkScope(host, { service, region: region ?? 'eu-west-1' })).not.toThrow();
  });

  test.each([
    'amazonaws.com',
    'eu-west-1.amazonaws.com',
    'example.com',
    's3.eu-west-1.amazonaws.com.example.com',
    'sts.amazonaws.com',
    'iam.amazonaws.com',
    'bucket.vpce-1a2b.s3.eu-west-1.vpce.amazonaws.com',
    'abc.execute-api.eu-west-1.amazonaws.com',
    'd111111abcdef8.cloudfront.net',
  ])('%s is none that is signed for', (host) => {
    expect(endpointOf(host)).toBeNull();
    const refusal = refusalOf(() => checkScope(host, { service: 's3', region: 'eu-west-1' }));
    expect([refusal.code, refusal.status]).toEqual(['aws.scope', 403]);
  });
});

test('a host that names no region is signed for any that could be one, and for nothing else', () => {
  const of = (region: string) => () => checkScope('bucket.s3.amazonaws.com', { service: 's3', region });
  expect(of('ap-southeast-2')).not.toThrow();
  for (const region of ['*', 'eu-west', 'eu-west-1/iam', 'EU-WEST-1', 'eu-west-1\n'])
    expect(refusalOf(of(region)).code).toBe('aws.scope');
});

describe('where an answer can be a credential nothing is signed', () => {
  test.each([
    ['sts.eu-west-1.amazonaws.com', 'sts'],
    ['sts-fips.us-east-1.amazonaws.com', 'sts'],
    ['iam.us-gov.amazonaws.com', 'iam'],
    ['portal.sso.eu-west-1.amazonaws.com', 'awsssoportal'],
    ['oidc.eu-west-1.amazonaws.com', 'sso-oauth'],
    ['eu-west-1.signin.aws.amazon.com', 'signin'],
    ['cognito-identity.eu-west-1.amazonaws.com', 'cognito-identity'],
    ['api.ecr.eu-west-1.amazonaws.com', 'ecr'],
    ['secretsmanager.eu-west-1.amazonaws.com', 'secretsmanager'],
    ['bucket--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com', 's3express'],
    ['s3express-control.us-east-1.amazonaws.com', 's3express'],
    ['123456789012.s3-control.us-east-1.amazonaws.com', 's3'],
    ['s3-control.us-east-1.amazonaws.com', 's3'],
    ['s3-outposts.us-east-1.amazonaws.com', 's3-outposts'],
  ])('%s with the scope %s', (host, service) => {
    expect(refusalOf(() => checkScope(host, { service, region: 'us-east-1' })).code).toBe('aws.scope');
  });

  // As a scope names them; an allowlist may name any of their hosts.
  test.each(
    (
      'sts iam rolesanywhere signin sso sso-oauth awsssoportal cognito-identity cognito-idp iot secretsmanager ssm ' +
      'bedrock-agentcore s3express lakeformation datazone gamelift emr-containers elasticmapreduce eks eks-auth redshift ' +
      'redshift-serverless rds-db dsql ecr ecr-public codeartifact codecommit ec2 ec2-instance-connect lightsail ecs connect ' +
      'finspace-api acm apigateway appsync grafana ivs license-manager quicksight'
    ).split(' '),
  )('%s, at a host of its own name', (service) => {
    const refusal = refusalOf(() => checkScope(`${service}.eu-west-1.amazonaws.com`, { service, region: 'eu-west-1' }));
    expect(refusal.message).toContain('its answers can be credentials');
  });

  test('whatever the host is', () => {
    for (const service of ['sts', 'iam', 'sso', 'signin', 'cognito-identity', 's3express']) {
      const refusal = refusalOf(() => checkScope('s3.eu-west-1.amazonaws.com', { service, region: 'eu-west-1' }));
      expect(refusal.message).toContain('credentials');
    }
  });
});
