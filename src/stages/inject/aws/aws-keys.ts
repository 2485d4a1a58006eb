// A pair of AWS keys, read from the one value of a source: JSON as `credential_process` programs print it, or
// `AKIA…:secret[:token]`. Never holds a part in the open: what is secret of it stays in Secrets of its own, which are to be
// noted one by one, because answers show them one by one.
import { reveal, Secret } from '../../../path/secret.ts';
import { SourceError } from '../sources/secret-source.ts';

export interface AwsKeys {
  /** Stands in every signature: it names the pair and opens nothing, so it is not kept out of answers. */
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Of temporary keys. */
  readonly sessionToken: Secret | null;
  /** Milliseconds since the epoch; null: not known, or never. */
  readonly expiresAtMs: number | null;
}

/** What a source has read: plain, on its way into one value. */
export interface PlainAwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | null;
  readonly expiration?: string | null;
}

const parsed = new WeakMap<Secret, AwsKeys>();

/** Throws a SourceError that holds no part of the value. */
export function parseAwsKeys(secret: Secret): AwsKeys {
  let keys = parsed.get(secret);
  if (keys === undefined) {
    keys = read(secret);
    parsed.set(secret, keys);
  }
  return keys;
}

/** Everything of the pair that must not come back in an answer. */
export function noteAwsKeys(keys: AwsKeys, note: (secret: Secret) => void): void {
  note(keys.secretAccessKey);
  if (keys.sessionToken !== null) note(keys.sessionToken);
}

/** One value that `parseAwsKeys` reads again. */
export function awsKeysValue({ accessKeyId, secretAccessKey, sessionToken, expiration }: PlainAwsKeys): string {
  return JSON.stringify({
    Version: 1,
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    ...(sessionToken ? { SessionToken: sessionToken } : {}),
    ...(expiration ? { Expiration: expiration } : {}),
  });
}

/** The variables in which a user of the AWS tools has a pair; all are to be taken out of the environment. */
export const awsKeyVariables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

/** The pair in the user's environment, as one value; null: none. `take` gives a variable and removes it. */
export function awsKeysFromEnvironment(take: (variable: string) => string | null): string | null {
  const [accessKeyId, secretAccessKey, sessionToken] = awsKeyVariables.map((variable) => take(variable)?.trim());
  if (!accessKeyId || !secretAccessKey) return null;
  return awsKeysValue({ accessKeyId, secretAccessKey, sessionToken: sessionToken || null });
}

function read(secret: Secret): AwsKeys {
  const value = reveal(secret).trim();
  const plain = value.startsWith('{') ? fromJson(secret.name, value) : fromColons(secret.name, value);
  const { accessKeyId, secretAccessKey, sessionToken } = plain;
  // 16 to 128 letters and digits is what AWS says of an id. What stands in a signature must not be able to end it.
  if (!/^\w{16,128}$/.test(accessKeyId)) throw unreadable(secret.name, 'its access key id is not one');
  for (const part of [secretAccessKey, sessionToken ?? 'none']) {
    if (!/^[\x21-\x7e]{1,16384}$/.test(part))
      throw unreadable(secret.name, 'one of its parts is empty or not plain text');
  }
  const expiresAtMs = plain.expiration ? Date.parse(plain.expiration) : null;
  if (Number.isNaN(expiresAtMs)) throw unreadable(secret.name, 'its Expiration is not a date');
  const about = { expiresAtMs };
  return {
    accessKeyId,
    secretAccessKey: new Secret(secret.name, secretAccessKey, about),
    sessionToken: sessionToken ? new Secret(secret.name, sessionToken, about) : null,
    expiresAtMs: expiresAtMs ?? secret.expiresAtMs,
  };
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html */
function fromJson(name: string, value: string): PlainAwsKeys {
  let document: unknown;
  try {
    document = JSON.parse(value);
  } catch {
    throw unreadable(name, 'it begins with { and is not JSON');
  }
  const text = (key: string): string | null => {
    const found: unknown = (document as Record<string, unknown>)[key];
    return typeof found === 'string' && found !== '' ? found : null;
  };
  const accessKeyId = text('AccessKeyId');
  const secretAccessKey = text('SecretAccessKey');
  if (accessKeyId === null || secretAccessKey === null) {
    throw unreadable(name, 'its JSON has no AccessKeyId and SecretAccessKey');
  }
  return { accessKeyId, secretAccessKey, sessionToken: text('SessionToken'), expiration: text('Expiration') };
}

/** None of the three parts can hold a colon. */
function fromColons(name: string, value: string): PlainAwsKeys {
  const parts = value.split(':');
  if (parts.length < 2 || parts.length > 3)
    throw unreadable(name, 'it is neither JSON nor ID:SECRET nor ID:SECRET:TOKEN');
  return { accessKeyId: parts[0]!, secretAccessKey: parts[1]!, sessionToken: parts[2] ?? null };
}

function unreadable(name: string, what: string): SourceError {
  return new SourceError(
    `the credential ${name} is not a pair of AWS keys: ${what}. Give it as ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN] ` +
      'or as the JSON of  aws configure export-credentials',
  );
}
