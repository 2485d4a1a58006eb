import { describe, expect, test } from 'vitest';
import { reveal, Secret } from '../../../../../src/path/secret.ts';
import { awsKeysValue } from '../../../../../src/stages/inject/aws/aws-keys.ts';
import { AwsKeysSource } from '../../../../../src/stages/inject/aws/aws-keys-source.ts';
import { MemorySource } from '../../../../../src/stages/inject/sources/memory-source.ts';
import type { SecretSource } from '../../../../../src/stages/inject/sources/secret-source.ts';

const nowMs = Date.UTC(2027, 0, 1);

function pair(secretAccessKey: string, endsInMs: number | null): Secret {
  const expiration = endsInMs === null ? null : new Date(nowMs + endsInMs).toISOString();
  return new Secret('aws', awsKeysValue({ accessKeyId: 'ASIATEMPTEMPTEMP0001', secretAccessKey, expiration }));
}

function over(current: Secret | null, next: () => Secret | null = () => null) {
  const asked: Secret[] = [];
  const noted: string[] = [];
  const inner: SecretSource = {
    current: () => current,
    renewed: async (refused) => {
      asked.push(refused);
      return next();
    },
  };
  return {
    asked,
    noted,
    source: new AwsKeysSource(
      inner,
      (secret) => noted.push(reveal(secret)),
      () => nowMs,
    ),
  };
}

describe('a source of AWS keys knows when they end', () => {
  test('keys that last are handed on as they are, their parts noted', () => {
    const secret = pair('lasting-key', null);
    const { source, asked, noted } = over(secret);
    expect(source.current(null)).toBe(secret);
    expect([asked, noted]).toEqual([[], ['lasting-key']]);
  });

  test('temporary keys carry their end, and the same keys are the same Secret', () => {
    const { source, asked } = over(pair('temporary', 3_600_000));
    const secret = source.current(null) as Secret;
    expect(secret.expiresAtMs).toBe(nowMs + 3_600_000);
    expect(source.current(null)).toBe(secret);
    expect(asked).toEqual([]);
  });

  test('shortly before their end the next ones are asked for, once for all who wait', async () => {
    const { source, asked, noted } = over(pair('ending', 60_000), () => pair('next', 3_600_000));
    const [one, two] = (await Promise.all([source.current(null), source.current(null)])) as Secret[];
    expect(reveal(one!)).toContain('next');
    expect(reveal(two!)).toContain('next');
    expect(asked).toHaveLength(1);
    expect(noted).toContain('next');
  });

  test('while there are no newer ones the old are used to their end, and no longer', async () => {
    expect(reveal((await over(pair('ending', 60_000)).source.current(null))!)).toContain('ending');
    await expect(over(pair('ended', -1)).source.current(null)).rejects.toThrow('ended at 2026-12-31T23:59:59.999Z');
  });

  test('a value that is no pair cannot be set by hand, and a pair can', () => {
    const source = new AwsKeysSource(
      new MemorySource('aws', null),
      () => {},
      () => nowMs,
    );
    expect(source.current(null)).toBeNull();
    expect(() => source.set!('just-one-word')).toThrow('not a pair of AWS keys');
    source.set!('AKIAREALREALREAL0001:by-hand');
    expect(reveal(source.current(null) as Secret)).toBe('AKIAREALREALREAL0001:by-hand');
    expect(source.clear!()).toBe(true);
  });

  test('a source that takes no value by hand still takes none', () => {
    expect(over(null).source.set).toBeUndefined();
    expect(over(null).source.listed).toBeUndefined();
  });
});
