// Which service and region an AWS host belongs to, and whether a signature may be made for it. Works on names alone. Never
// lets the keys sign where an answer would be a credential: what AWS hands out there is real, and would be in the sandbox.
import { Refusal } from '../../../path/refusal.ts';

export interface AwsScope {
  readonly region: string;
  readonly service: string;
}

interface AwsEndpoint {
  /** As the credential scope of a signature names it. */
  readonly service: string;
  /** null: the host names none. */
  readonly region: string | null;
}

const regionName = /^[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}$/;
const suffixes = ['.amazonaws.com', '.amazonaws.com.cn', '.api.aws'];

/** Hosts whose first label is not what their signatures say. */
const signingNames: ReadonlyMap<string, string> = new Map([
  ['bedrock-runtime', 'bedrock'],
  ['bedrock-agent', 'bedrock'],
  ['bedrock-agent-runtime', 'bedrock'],
  ['bedrock-data-automation', 'bedrock'],
  ['bedrock-data-automation-runtime', 'bedrock'],
  ['runtime.sagemaker', 'sagemaker'],
  ['streams.dynamodb', 'dynamodb'],
  ['email', 'ses'],
]);

/**
 * Services that answer with credentials or make new ones: temporary keys and sessions, logins of databases, clusters,
 * registries and machines, private keys and keys of APIs. As scopes name them and, where it is another name, as hosts do.
 */
const minting: ReadonlySet<string> = new Set([
  ...['sts', 'iam', 'rolesanywhere', 'signin', 'sso', 'sso-oauth', 'awsssoportal', 'awsssooidc', 'oidc', 'portal.sso'],
  ...['cognito-identity', 'cognito-idp', 'iot', 'credentials.iot', 'secretsmanager', 'ssm', 'bedrock-agentcore'],
  ...['s3express', 'lakeformation', 'datazone', 'gamelift', 'emr-containers', 'elasticmapreduce', 'eks', 'eks-auth'],
  ...['redshift', 'redshift-serverless', 'rds-db', 'dsql', 'ecr', 'api.ecr', 'ecr-public', 'api.ecr-public'],
  ...['codeartifact', 'codecommit', 'ec2', 'ec2-instance-connect', 'lightsail', 'ecs', 'connect', 'finspace-api'],
  ...['acm', 'apigateway', 'appsync', 'grafana', 'ivs', 'license-manager', 'quicksight'],
]);

/** Throws a Refusal unless a signature of this scope belongs to this host. */
export function checkScope(host: string, scope: AwsScope): void {
  if (minting.has(scope.service)) throw hands(scope.service, host);
  const endpoint = endpointOf(host);
  if (endpoint === null) {
    throw refused(
      `${host} is not a host for which AWS requests are signed`,
      'Hosts of the form SERVICE.REGION.amazonaws.com, and those of S3, are signed for; private endpoints are not.',
    );
  }
  if (scope.service !== endpoint.service) {
    throw refused(
      `the request is signed for the service ${shown(scope.service)}, and ${host} is ${endpoint.service}`,
      'Let the client sign for the service it talks to: a custom endpoint or signing name of the client is the usual cause.',
    );
  }
  if (!regionName.test(scope.region) || (endpoint.region !== null && scope.region !== endpoint.region)) {
    throw refused(
      `the request is signed for the region ${shown(scope.region)}, and ${host} is in ${endpoint.region ?? 'none of that name'}`,
      'Set the region of the client (AWS_REGION) to the one of the host.',
    );
  }
}

/** null: not a form that is known. */
export function endpointOf(host: string): AwsEndpoint | null {
  const suffix = suffixes.find((end) => host.endsWith(end));
  if (suffix === undefined) return null;
  const labels = host.slice(0, -suffix.length).split('.');
  return storageOf(labels) ?? regionalOf(labels);
}

/** [bucket.]s3[-fips|-accesspoint][.dualstack].REGION, [bucket.]s3-REGION, [bucket.]s3, bucket.s3-accelerate[.dualstack]. */
function storageOf(labels: readonly string[]): AwsEndpoint | null {
  const last = labels.at(-1)!;
  if (last === 's3') return { service: 's3', region: null };
  if (last.startsWith('s3-') && regionName.test(last.slice(3))) return { service: 's3', region: last.slice(3) };
  const accelerated = last === 'dualstack' ? labels.at(-2) : last;
  if (accelerated === 's3-accelerate') return { service: 's3', region: null };
  if (!regionName.test(last)) return null;
  const label = labels.at(-2) === 'dualstack' ? labels.at(-3) : labels.at(-2);
  const isStorage =
    label === 's3' || label === 's3-fips' || label === 's3-accesspoint' || label === 's3-accesspoint-fips';
  return isStorage ? { service: 's3', region: last } : null;
}

/** SERVICE[-fips].REGION, nothing in front of it. */
function regionalOf(labels: readonly string[]): AwsEndpoint | null {
  const region = labels.at(-1)!;
  const label = labels
    .slice(0, -1)
    .join('.')
    .replace(/-fips$/, '');
  if (!regionName.test(region) || label === '') return null;
  const service = signingNames.get(label) ?? label;
  // Another kind of S3 would be signed by its rules, and most of them hand out sessions.
  if (label.startsWith('s3-') || label.startsWith('s3express')) return { service: 's3express', region };
  if (service.includes('.') && !minting.has(service)) return null;
  return { service, region };
}

function hands(service: string, host: string): Refusal {
  return refused(
    `requests to the AWS service ${shown(service)} are not signed (${host}): its answers can be credentials, which would be real ones in the sandbox`,
    'Do this outside the sandbox, or give the gateway keys that can already do what is needed (an assumed role, a permission set).',
  );
}

function refused(message: string, hint: string): Refusal {
  return new Refusal('aws.scope', message, { rule: 'built-in: AWS signatures belong to their host', hint });
}

/** What the sandbox wrote, short and on one line. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
