import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { reveal, Secret } from '../../../../../src/path/secret.ts';
import {
  awsKeysFromEnvironment,
  awsKeysValue,
  noteAwsKeys,
  parseAwsKeys,
} from '../../../../../src/stages/inject/aws/aws-keys.ts';
import { SourceError } from '../../../../../src/stages/inject/sources/secret-source.ts';

const id = 'AKIAREALREALREAL0001';
const key = 'real/secret+access/key0123456789abcdefgh';
const token = 'FwoGZXIvYXdzE//session==';

function parse(value: string) {
  return parseAwsKeys(new Secret('aws', value));
}

describe('a pair of AWS keys is read from one value', () => {
  test('from what credential_process programs print, over several lines or one', () => {
    const document = {
      Version: 1,
      AccessKeyId: id,
      SecretAccessKey: key,
      SessionToken: token,
      Expiration: '2027-01-02T03:04:05Z',
    };
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2)]) {
      const keys = parse(text);
      expect(keys.accessKeyId).toBe(id);
      expect(reveal(keys.secretAccessKey)).toBe(key);
      expect(reveal(keys.sessionToken!)).toBe(token);
      expect(keys.expiresAtMs).toBe(Date.UTC(2027, 0, 2, 3, 4, 5));
    }
  });

  test('from ID:SECRET, with a session token or without', () => {
    expect(reveal(parse(`${id}:${key}`).secretAccessKey)).toBe(key);
    expect(parse(`${id}:${key}`).sessionToken).toBeNull();
    expect(reveal(parse(`${id}:${key}:${token}`).sessionToken!)).toBe(token);
  });

  test('from what it writes itself', () => {
    const keys = parse(awsKeysValue({ accessKeyId: id, secretAccessKey: key, sessionToken: token }));
    expect([keys.accessKeyId, reveal(keys.secretAccessKey), reveal(keys.sessionToken!)]).toEqual([id, key, token]);
  });

  test.each([
    ['a single word', key],
    ['four parts', `${id}:${key}:${token}:more`],
    ['JSON without the secret', JSON.stringify({ AccessKeyId: id })],
    ['broken JSON', `{"SecretAccessKey": "${key}"`],
    ['an id that could end the Authorization field', `${id}/x, y:${key}`],
    ['a space in the secret', `${id}:${key} ${key}`],
    ['a date that is none', JSON.stringify({ AccessKeyId: id, SecretAccessKey: key, Expiration: 'soon' })],
  ])('%s is refused without saying any of it', (_, value) => {
    let error: unknown;
    try {
      parse(value);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(SourceError);
    expect(inspect(error)).not.toContain(key);
    expect(inspect(error)).not.toContain(id);
  });

  test('both secret parts are noted one by one, and the id is not', () => {
    const noted: string[] = [];
    noteAwsKeys(parse(`${id}:${key}:${token}`), (secret) => noted.push(reveal(secret)));
    expect(noted).toEqual([key, token]);
  });

  test('no part prints', () => {
    const shown = inspect(parse(`${id}:${key}:${token}`), { depth: 9 });
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(token);
  });
});

describe('the pair in the environment of a user', () => {
  function taken(env: Record<string, string>): [string | null, string[]] {
    const asked: string[] = [];
    const value = awsKeysFromEnvironment((variable) => {
      asked.push(variable);
      return env[variable] ?? null;
    });
    return [value, asked];
  }

  test('is one value, and every variable of it is taken out', () => {
    const [value, asked] = taken({ AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: token });
    expect(reveal(parse(value!).sessionToken!)).toBe(token);
    expect(asked).toEqual(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']);
  });

  test('half a pair is none, and is taken out all the same', () => {
    const [value, asked] = taken({ AWS_SECRET_ACCESS_KEY: key });
    expect(value).toBeNull();
    expect(asked).toHaveLength(3);
  });
});
