import { describe, expect, test } from 'vitest';
import type { Authorized } from '../../../../../src/path/flow.ts';
import { maxSkewMs, readClaim } from '../../../../../src/stages/inject/aws/sigv4-claim.ts';
import { refusalOf } from '../../../../support/hand-made-flow.ts';
import { clientFlow, realKeys, resign } from './sigv4-ground.ts';

const said = (flow: Authorized, nowMs = Date.now()): string => refusalOf(() => readClaim(flow, nowMs)).message;

async function withField(key: string, change: (value: string) => string): Promise<Authorized> {
  const flow = await clientFlow({ path: '/bucket/key' });
  const value = flow.request.headers.get(key)!;
  const headers = flow.request.headers.without((name) => name === key).append(key, change(value));
  return { ...flow, request: { ...flow.request, headers } };
}

async function withQuery(query: string): Promise<Authorized> {
  const flow = await clientFlow({ path: '/bucket/key' });
  return { ...flow, canonical: { ...flow.canonical, query } };
}

describe('what a client claims to have signed', () => {
  test('is claimed with the placeholder, and with no other key', async () => {
    expect(said(await clientFlow({ keys: realKeys }))).toContain('not the placeholder of this sandbox');
    expect(said(await clientFlow({ keys: realKeys, expiresIn: 60 }))).toContain('not the placeholder of this sandbox');
  });

  test.each(['', 'host;', 'host;x y', 'host;__proto__', 'Host', 'host;a\nb'])(
    'has names of fields that are some: %j',
    async (names) => {
      const flow = await withField('authorization', (value) =>
        value.replace(/SignedHeaders=[^,]*/, `SignedHeaders=${names}`),
      );
      expect(said(flow)).toContain('list of signed headers');
    },
  );

  test.each(['AWSAccessKeyId=a', 'x=1&awsaccesskey%49d=a', 'X-Amz-S3session-Token=a'])(
    'has no other way to say who asks: %s',
    async (query) => {
      expect(said(await withQuery(query))).toContain('is not supported');
    },
  );

  test.each(['X-Amz-Credential', 'x-amz-date', 'X-Amz-Expires', 'X-Amz-Algorithm', 'X-Amz-SignedHeaders'])(
    'is said once: %s',
    async (name) => {
      const flow = await clientFlow({ path: '/bucket/key', expiresIn: 60 });
      const query = `${flow.canonical.query}&${name}=x`;
      expect(said({ ...flow, canonical: { ...flow.canonical, query } })).toContain('must be there once');
    },
  );

  test.each(['/aws4_request', '/x'])('has a scope of five parts: not one with %j behind', async (end) => {
    const flow = await withField('authorization', (value) => value.replace(/aws4_request,/, `aws4_request${end},`));
    expect(said(flow)).toContain('credential scope');
  });

  test('is neither older nor younger than AWS itself would take', async () => {
    const at = new Date();
    for (const expiresIn of [undefined, 60]) {
      const flow = await clientFlow({ at, ...(expiresIn && { expiresIn }) });
      expect(said(flow, at.getTime() - maxSkewMs - 2000)).toContain('too far from the time of the gateway');
      expect(said(flow, at.getTime() + maxSkewMs + 2000)).toContain('too far from the time of the gateway');
      expect(readClaim(flow, at.getTime() + 1000)).toMatchObject({ form: expiresIn ? 'query' : 'header' });
    }
  });
});

test('a session of S3 Express goes along with nothing, signed or not', async () => {
  for (const isSigned of [true, false]) {
    const flow = await clientFlow({ path: '/bucket/key', headers: { 'x-amz-s3session-token': 'theirs' } });
    const headers = flow.request.headers.without((key) => !isSigned && key === 'authorization');
    const out = await resign({ ...flow, request: { ...flow.request, headers } });
    expect([out.isSigned, out.headers.has('x-amz-s3session-token')]).toEqual([isSigned, false]);
  }
});
