import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Authorized } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { reveal, Secret } from '../../../../../src/path/secret.ts';
import { signOutgoing } from '../../../../../src/stages/inject/aws/aws-sign-outgoing.ts';
import { maxHashedBytes } from '../../../../../src/stages/inject/aws/sigv4-payload.ts';
import { maxReadingBytes } from '../../../../../src/stages/inject/reading-room.ts';
import {
  bodyOf,
  type ClientRequest,
  cleaned,
  clientFlow,
  exchangeWith,
  judged,
  placeholderKeys,
  resign,
  secretOf,
  sentBy,
  temporaryKeys,
} from './sigv4-ground.ts';

const bedrock = { host: 'bedrock-runtime.us-east-1.amazonaws.com', region: 'us-east-1', service: 'bedrock' };

async function refusal(flow: Authorized): Promise<Refusal> {
  const error: unknown = await resign(flow).then(
    () => new Error('nothing was refused'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

/** The client's flow with some of its fields changed after it was signed; null removes one. */
async function altered(request: ClientRequest, changes: Readonly<Record<string, string | null>>): Promise<Authorized> {
  const flow = await clientFlow(request);
  const headers = flow.request.headers.without((key) => key in changes);
  for (const [name, value] of Object.entries(changes)) if (value !== null) headers.append(name, value);
  return { ...flow, request: { ...flow.request, headers } };
}

describe('a request signed with placeholder keys goes out signed with the real ones', () => {
  test('in a header, with the date, region and service of the client', async () => {
    const flow = await clientFlow({ method: 'PUT', path: '/bucket/a%20key', body: Buffer.from('hello') });
    const out = await resign(flow);
    expect(await judged(flow, out)).toEqual({ valid: true, body: Buffer.from('hello') });
    expect(out.headers.getAll('authorization')).toHaveLength(1);
    expect(out.headers.get('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAREALREALREAL0001\/\d{8}\/eu-west-1\/s3\/aws4_request, /,
    );
    expect(out.headers.get('x-amz-date')).toBe(flow.request.headers.get('x-amz-date'));
    expect(out.wrap).toBeNull();
  });

  test('nothing of the placeholder is left, and the session token is the real one', async () => {
    const client = { ...placeholderKeys, sessionToken: 'placeholder-token' };
    for (const expiresIn of [undefined, 600]) {
      const flow = await clientFlow({ path: '/bucket/key', keys: client, ...(expiresIn && { expiresIn }) });
      const noted: Secret[] = [];
      const out = await resign(flow, temporaryKeys, { noted });
      expect(await judged(flow, out, temporaryKeys)).toMatchObject({ valid: true });
      const wire = [out.target, ...out.headers.values].join('\n');
      expect(wire).not.toContain(placeholderKeys.accessKeyId);
      expect(wire).not.toContain('placeholder-token');
      expect(wire).not.toContain(temporaryKeys.secretAccessKey);
      expect(noted.map(reveal)).toEqual([temporaryKeys.secretAccessKey, temporaryKeys.sessionToken]);
    }
  });

  test('a presigned URL goes out good for no longer than a signature in a header', async () => {
    const at = new Date(Date.now() - 3 * 86_400_000);
    const flow = await clientFlow({
      path: '/bucket/key',
      query: { 'response-content-type': 'a/b' },
      at,
      expiresIn: 604_800,
    });
    const out = await resign(flow);
    expect(await judged(flow, out)).toMatchObject({ valid: true });
    expect(out.target).toContain('response-content-type=a%2Fb&');
    expect(out.target).toContain('X-Amz-Expires=900&');
    expect(out.headers.has('authorization')).toBe(false);
  });

  test('fields are signed as they go out: one that was dropped is not, one that was changed is signed changed', async () => {
    const flow = await clientFlow({
      headers: { 'accept-encoding': 'zstd', 'x-real-ip': '192.0.2.1', range: 'bytes=0-1' },
    });
    const headers = cleaned(flow).headers.without((key) => ['x-real-ip', 'accept-encoding'].includes(key));
    const out = await resign(flow, undefined, { headers: headers.append('Accept-Encoding', 'gzip') });
    expect(await judged(flow, out)).toMatchObject({ valid: true });
    const signed = /SignedHeaders=([^,]+)/.exec(out.headers.get('authorization')!)![1]!.split(';');
    expect(signed).toEqual(['accept-encoding', 'host', 'range', 'x-amz-content-sha256', 'x-amz-date']);
  });

  test('a field that comes twice is signed as AWS reads it', async () => {
    const flow = await clientFlow({ headers: { 'x-amz-meta-a': 'one' } });
    const headers = cleaned(flow).headers.append('X-Amz-Meta-A', 'two');
    expect(await judged(flow, await resign(flow, undefined, { headers }))).toMatchObject({ valid: true });
  });

  test('another port than 443 is part of the host', async () => {
    const flow = await clientFlow({});
    const canonical = { ...flow.canonical, port: 8443 };
    const out = await resign({ ...flow, canonical });
    const there = { ...flow, canonical: { ...canonical, host: `${canonical.host}:8443` } };
    expect(await judged(there, out)).toMatchObject({ valid: true });
    expect(await judged(flow, out)).toMatchObject({ valid: false });
  });
});

describe('a request that is not signed, as for a public file', () => {
  test('goes out unsigned: no key is used for what did not ask for one', async () => {
    const flow = await altered({ path: '/public/file' }, { authorization: null, 'x-amz-security-token': 'their-own' });
    const noted: Secret[] = [];
    const out = await resign(flow, temporaryKeys, { noted });
    expect([out.isSigned, out.target, noted]).toEqual([false, '/public/file', []]);
    expect(out.headers.has('authorization')).toBe(false);
    expect(out.headers.has('x-amz-security-token')).toBe(false);
    expect(out.wrap).toBeNull();
  });
});

describe('the body of a request to AWS', () => {
  const body = Buffer.from('{"prompt":"hi"}');

  test('is read and hashed where the client has sent no hash', async () => {
    const flow = await clientFlow({ ...bedrock, method: 'POST', path: '/model/a%3A0/invoke', body });
    expect(flow.request.headers.has('x-amz-content-sha256')).toBe(false);
    const out = await resign(flow);
    expect(await judged(flow, out)).toMatchObject({ valid: true });
    expect(out.headers.get('x-amz-content-sha256')).toBe(createHash('sha256').update(body).digest('hex'));
    expect(await bodyOf(sentBy(flow, out))).toEqual(body);
    expect(out.headers.getAll('content-length')).toEqual([String(body.length)]);
  });

  test('can be signed a second time, for a second try', async () => {
    const flow = await clientFlow({ ...bedrock, method: 'POST', path: '/model/a/invoke', body });
    const once = await resign(flow);
    const exchange = sentBy(flow, once);
    const again = { ...flow, exchange, payload: exchange };
    expect(await judged(again, await resign(again, temporaryKeys), temporaryKeys)).toMatchObject({ valid: true });
  });

  test('larger than what is kept in memory is refused with words', async () => {
    const flow = await clientFlow({ ...bedrock, method: 'POST', path: '/model/a/invoke', body });
    const large = { ...exchangeWith(body), requestFraming: { kind: 'length', bytes: maxHashedBytes + 1 } as const };
    const refused = await refusal({ ...flow, exchange: { ...large, asPayload: () => large } });
    expect([refused.code, refused.status]).toEqual(['limit.body-size', 413]);
    expect(refused.hint).toContain('X-Amz-Content-Sha256');
  });

  test('bodies that never end take no more memory of the gateway than one sandbox may have', async () => {
    const flow = await clientFlow({ ...bedrock, method: 'POST', path: '/model/a/invoke', body });
    expect(maxReadingBytes).toBeLessThanOrEqual(256 * 1024 * 1024);
    const hanging = Array.from({ length: maxReadingBytes / maxHashedBytes }, () => {
      const exchange: Exchange = { ...exchangeWith(body), requestFraming: { kind: 'chunked' }, sendBody: () => {} };
      exchange.asPayload = () => exchange;
      return { exchange, ended: refusal({ ...flow, exchange }).catch((error: unknown) => error) };
    });
    const refused = await refusal(flow);
    expect([refused.code, refused.status]).toEqual(['limit.concurrent', 429]);
    expect(refused.retryAfterSeconds).toBe(1);
    const other = { ...flow, sandbox: { ...flow.sandbox, id: 'sbx_other' } };
    expect((await resign(other)).isSigned).toBe(true);
    hanging[0]!.exchange.onAbandoned!();
    await hanging[0]!.ended;
    expect((await resign(flow)).isSigned).toBe(true);
    for (const { exchange } of hanging) exchange.onAbandoned!();
    await Promise.all(hanging.map(({ ended }) => ended));
  });

  test.each(['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'])(
    'goes on as it comes with %s at S3',
    async (stated) => {
      const sent = Buffer.from('5\r\nhello\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n');
      const flow = await clientFlow({
        method: 'PUT',
        path: '/b/k',
        headers: { 'x-amz-content-sha256': stated },
        body: sent,
      });
      const out = await resign(flow);
      expect(await judged(flow, out)).toMatchObject({ valid: true });
      expect(out.wrap).toBeNull();
    },
  );

  test.each(['UNSIGNED-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-EVENTS', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'])(
    'is refused elsewhere with %s',
    async (stated) => {
      const flow = await clientFlow({ ...bedrock, method: 'POST', headers: { 'x-amz-content-sha256': stated }, body });
      expect((await refusal(flow)).code).toBe('aws.signature');
    },
  );

  test.each(['STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD', 'no hash', 'A'.repeat(64)])(
    'is refused with %s',
    async (stated) => {
      const flow = await clientFlow({ method: 'PUT', headers: { 'x-amz-content-sha256': stated }, body });
      expect((await refusal(flow)).code).toBe('aws.signature');
    },
  );

  test.each([{}, { authorization: null }])(
    'a form that carries a signature of its own is refused (%o)',
    async (changes) => {
      const request = {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body,
      };
      expect((await refusal(await altered(request, changes))).message).toContain('form');
    },
  );

  test('such a form is one by any of its types, and at a name of S3 that nothing is signed for', async () => {
    const plain = { method: 'POST', headers: { 'content-type': 'text/plain' }, body };
    const flow = await altered(plain, { authorization: null });
    expect((await resign(flow)).isSigned).toBe(false);
    flow.request.headers.append('Content-Type', 'multipart/form-data; boundary=x');
    expect((await refusal(flow)).message).toContain('form');
    const host = 'bucket.vpce-1a2b.s3.eu-west-1.vpce.amazonaws.com';
    const form = { ...plain, host, headers: { 'content-type': 'multipart/form-data; boundary=x' } };
    expect((await refusal(await altered(form, { authorization: null }))).message).toContain('form');
  });
});

describe('what cannot be signed anew is refused with what to do', () => {
  test.each(['authorization', 'x-amz-date', 'x-amz-content-sha256'])('what has two readings: %s twice', async (key) => {
    const flow = await clientFlow({ path: '/bucket/key' });
    flow.request.headers.append(key, flow.request.headers.get(key)!);
    expect((await refusal(flow)).message).toContain(`the header ${key} is there more than once`);
  });

  test('a signature in a header and one in the query', async () => {
    const flow = await clientFlow({ path: '/bucket/key', expiresIn: 60 });
    const { request } = await clientFlow({ path: '/bucket/key' });
    for (const key of ['authorization', 'x-amz-date']) flow.request.headers.append(key, request.headers.get(key)!);
    expect((await refusal(flow)).message).toContain('both in a header and in its query');
  });

  test('a field of AWS that the client did not sign', async () => {
    const flow = await altered({ path: '/bucket/key' }, { 'x-amz-acl': 'public-read' });
    expect((await refusal(flow)).message).toContain('the header x-amz-acl is not signed');
  });

  test.each<[string, ClientRequest, Record<string, string | null>, string]>([
    ['an API key', {}, { authorization: 'Bearer ABSK-something' }, 'Version 4'],
    ['Signature Version 2', {}, { authorization: 'AWS AKIASALLYPORT0000000:c2ln' }, 'Version 4'],
    ['SigV4A', {}, { authorization: 'AWS4-ECDSA-P256-SHA256 Credential=a/20270101/s3/aws4_request' }, 'SigV4A'],
    [
      'a scope that cannot be read',
      {},
      { authorization: 'AWS4-HMAC-SHA256 Credential=AKIASALLYPORT0000000/x' },
      'scope',
    ],
    ['a field named twice', {}, { authorization: 'AWS4-HMAC-SHA256 Credential=a, Credential=b' }, 'cannot be read'],
    ['no date', {}, { 'x-amz-date': null }, 'X-Amz-Date'],
    ['a date of another day than its scope', {}, { 'x-amz-date': '20200101T000000Z' }, 'date'],
    ['an URL for more than a week', { expiresIn: 604_800, query: {} }, {}, ''],
  ])('%s', async (_, request, changes, words) => {
    const flow = await altered(request, changes);
    const longer = flow.canonical.query?.replace('X-Amz-Expires=604800', 'X-Amz-Expires=604801') ?? null;
    const refused = await refusal({ ...flow, canonical: { ...flow.canonical, query: longer } });
    expect([refused.code, refused.status]).toEqual(['aws.signature', 403]);
    expect(refused.message).toContain(words);
    expect(refused.hint).not.toBe('');
  });

  test('a WebSocket', async () => {
    const flow = await clientFlow(bedrock);
    expect((await refusal({ ...flow, canonical: { ...flow.canonical, kind: 'websocket' } })).message).toContain(
      'WebSocket',
    );
  });

  test('keys that are none, or that have ended, are for the operator to repair', async () => {
    const flow = await clientFlow({});
    const sign = (secret: Secret) => signOutgoing(flow, '/', new HeaderList(), secret, () => {});
    await expect(sign(new Secret('aws', 'just-a-word'))).rejects.toMatchObject({
      code: 'credential.unreadable',
      status: 502,
    });
    await expect(sign(secretOf(temporaryKeys, '2020-01-01T00:00:00Z'))).rejects.toMatchObject({
      code: 'credential.missing',
    });
  });
});
