import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { scrubForStorage } from '../../../../../src/stages/inject/lfs/lfs-storage-request.ts';
import { scrubFor } from '../../../../../src/stages/inject/scrub/secret-scrub.ts';

const signature = 'f2ef6e5f4d0f95cf6e5f4d0f95cf33aa17d0f95cf6e5f4d0f95cf33aa17cafe0';
const credential = 'AKIAIOSFODNN7EXAMPLE/20261116/us-east-1/s3/aws4_request';

function scrubOf(target: string, headers: readonly (readonly [string, string])[] = [], inner = '') {
  const access = {
    grant: {
      sandboxId: 's',
      sandboxSince: 't',
      host: 'h',
      port: 443,
      repository: 'r',
      action: 'download',
      oid: '',
      size: 1,
      expiresAt: 1,
    },
    origin: { scheme: 'https', host: 's.example', port: 443 },
    target: new Secret('lfs address', target),
    headers: headers.map(([name, value]) => [name, new Secret(name, value)] as const),
  } as const;
  return scrubForStorage(access, inner === '' ? null : scrubFor(new Secret('key', inner)))!;
}

const signed =
  '/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD&X-Amz-Date=20261116T104421Z&X-Amz-Expires=3600' +
  `&X-Amz-Credential=${encodeURIComponent(credential)}&X-Amz-Signature=${signature}&X-Amz-SignedHeaders=content-type%3Bhost` +
  '&response-content-type=application%2Foctet-stream';

describe('what opens a storage does not come back from it', () => {
  test('signature, credential and token, in fields and in the body, beside everything else', () => {
    const scrub = scrubOf(signed, [['Authorization', 'RemoteAuth a-token-of-the-storage']], 'key-0123456789');
    const echo = `${signature} ${credential} a-token-of-the-storage key-0123456789`;
    const masked = echo.replace(/[^ ]/g, '*');
    const fields = HeaderList.from([['X-Echo', echo]]);
    scrub.fields(fields);
    expect(fields.values).toEqual([masked]);
    const body = scrub.openBody();
    expect(body.feed(Buffer.from(echo)).toString() + body.end().toString()).toBe(masked);
  });

  // An object is what its hash says, or git-lfs throws it away.
  test('an object that holds words which every signed address has comes as it is', () => {
    const scrub = scrubOf(signed, [
      ['Content-Type', 'application/octet-stream'],
      ['Accept', 'application/vnd.git-lfs+json'],
      ['x-amz-content-sha256', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
      ['x-amz-date', '20261116T104421Z'],
      ['Authorization', 'RemoteAuth a-token-of-the-storage'],
    ]);
    const object =
      'AWS4-HMAC-SHA256 UNSIGNED-PAYLOAD 20261116T104421Z content-type;host application/octet-stream ' +
      'application/vnd.git-lfs+json e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    const body = scrub.openBody();
    expect(body.feed(Buffer.from(object)).toString() + body.end().toString()).toBe(object);
  });
});
