import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import { parseAwsKeys } from '../../../../../src/stages/inject/aws/aws-keys.ts';
import { AwsProfileSource, awsKeysInFile } from '../../../../../src/stages/inject/aws/aws-profile-source.ts';
import { SourceError } from '../../../../../src/stages/inject/sources/secret-source.ts';

let home: string;
let path: string;
let nowMs = 0;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'aws-home-'));
  mkdirSync(join(home, '.aws'));
  path = join(home, '.aws/credentials');
  write(`
# work
[default]
aws_access_key_id = AKIADEFAULTDEFAULT01
aws_secret_access_key=default/key   ; a comment
region = eu-west-1

[work]
AWS_ACCESS_KEY_ID=ASIAWORKWORKWORK0001
aws_secret_access_key = work=key
aws_session_token = work/token==

[robot]
credential_process = /usr/bin/robot --json
[role]
role_arn = arn:aws:iam::123456789012:role/x
source_profile = default
[empty]
`);
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string, mode = 0o600): void {
  writeFileSync(path, text, { mode });
}

function source(profile: string, file: string | null = null): AwsProfileSource {
  return new AwsProfileSource('aws', { kind: 'aws-profile', path: file, profile }, { home, now: () => nowMs });
}

function keysOf(from: AwsProfileSource): string[] {
  const { accessKeyId, secretAccessKey, sessionToken } = parseAwsKeys(from.current());
  return [accessKeyId, reveal(secretAccessKey), ...(sessionToken === null ? [] : [reveal(sessionToken)])];
}

describe('a profile of the AWS credentials file', () => {
  test('gives its pair, with a session token where it has one', () => {
    expect(keysOf(source('default'))).toEqual(['AKIADEFAULTDEFAULT01', 'default/key']);
    expect(keysOf(source('work'))).toEqual(['ASIAWORKWORKWORK0001', 'work=key', 'work/token==']);
    expect(keysOf(source('work', path))).toHaveLength(3);
    expect(source('work').origin).toBe('~/.aws/credentials [work]');
  });

  test('is read again when the file has changed, and stays the same Secret while it has not', () => {
    const from = source('default');
    const before = from.current();
    nowMs += 5000;
    expect(from.current()).toBe(before);
    write('[default]\naws_access_key_id=AKIANEWNEWNEWNEW0001\naws_secret_access_key=new\n');
    nowMs += 5000;
    expect(keysOf(from)).toEqual(['AKIANEWNEWNEWNEW0001', 'new']);
  });

  test('looks at once when the old pair was refused', async () => {
    const from = source('default');
    const refused = from.current();
    expect(await from.renewed(refused)).toBeNull();
    write('[default]\naws_access_key_id=AKIANEWNEWNEWNEW0001\naws_secret_access_key=new\n');
    expect(await from.renewed(refused)).not.toBeNull();
  });

  test.each([
    ['robot', 'credential_process'],
    ['role', 'role_arn'],
    ['empty', 'no pair of keys'],
    ['absent', 'no profile [absent]'],
  ])('[%s] is refused with what to write instead', (profile, why) => {
    expect(() => source(profile).current()).toThrow(SourceError);
    expect(() => source(profile).current()).toThrow(why);
    expect(() => source(profile).current()).toThrow(`[aws, configure, export-credentials, --profile, "${profile}"]`);
  });

  test('a file that every user may write is left alone, and one that leads out of the home', () => {
    chmodSync(path, 0o666);
    expect(() => source('default').current()).toThrow('every user may write');
    rmSync(path);
    symlinkSync('/etc/hostname', path);
    expect(() => source('default').current()).toThrow('leads out of the home');
    rmSync(path);
    expect(() => source('default').current()).toThrow('does not exist');
  });

  test('the keys of a user are found in its text, and no way to get keys is', () => {
    const text =
      '[default]\ncredential_process = x\n[own]\naws_access_key_id=AKIAOWNOWNOWNOWN0001\naws_secret_access_key=k\n';
    expect(awsKeysInFile(text, 'own')).toContain('AKIAOWNOWNOWNOWN0001');
    expect([awsKeysInFile(text, 'default'), awsKeysInFile(text, 'absent')]).toEqual([null, null]);
  });

  test('an old pair is not used once the file is bad', () => {
    const from = source('default');
    from.current();
    chmodSync(path, 0o666);
    nowMs += 5000;
    expect(() => from.current()).toThrow(SourceError);
  });
});
