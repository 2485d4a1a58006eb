import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { describeFlow, type RecordedOutcome } from '../../../../../src/stages/audit/journal/record.ts';
import { arrivedFlow, forwardedFlow } from '../flow-fixture.ts';

const allowed: RecordedOutcome = { verdict: 'allowed', status: 200, refusal: null, error: null };

function refused(refusal: Refusal): RecordedOutcome {
  return { verdict: 'refused', status: refusal.status, refusal, error: null };
}

describe('a record says what happened', () => {
  test('of a request that went through', () => {
    const { ms, ...rest } = describeFlow(forwardedFlow(), allowed);
    expect(ms).toBeGreaterThanOrEqual(3);
    expect(rest).toEqual({
      time: '2026-01-02T03:04:05.678Z',
      id: 'req-1',
      sandbox: 'sbx-1',
      door: 'proxy 127.0.0.1:8080',
      from: '172.18.0.5',
      proof: ['ip', 'secret'],
      method: 'POST',
      scheme: 'https',
      host: 'api.example.com',
      port: 443,
      destination: null,
      path: '/v1/messages',
      query: 'key&beta',
      kind: 'http',
      git: null,
      protocol: 'http/1.1',
      verdict: 'allowed',
      status: 200,
      code: null,
      rule: 'allow[0] (preset anthropic)',
      reason: null,
      told: null,
      hint: null,
      credential: 'anthropic',
      upstream: '192.0.2.7:443',
      bytes_in: 120,
      bytes_out: 4096,
      scrubbed: 0,
      incident: null,
      model: null,
      tokens_in: 0,
      tokens_out: 0,
      cost_usd: 0,
      tokens_estimated: false,
      trail: ['accept', 'identify', 'authorize', 'inject', 'forward'].map((stage) => [stage, expect.any(Number), 'ok']),
      cut: null,
      merged: null,
    });
  });

  test('a refusal gives code, rule, and the reason with the causes only the operator may know', () => {
    const refusal = new Refusal('upstream.connect', 'api.example.com cannot be reached', {
      rule: 'built-in',
      cause: new Error('connect failed', { cause: new Error('ECONNREFUSED 192.0.2.7:443') }),
    });
    const record = describeFlow(forwardedFlow(), refused(refusal));
    expect(record).toMatchObject({ verdict: 'refused', status: 502, code: 'upstream.connect', rule: 'built-in' });
    expect(record.reason).toBe('api.example.com cannot be reached: connect failed: ECONNREFUSED 192.0.2.7:443');
    expect(record.told).toBe('api.example.com cannot be reached');
    expect(record.hint).toBe(refusal.hint);
  });

  test('a fault of ours is internal.error with its message', () => {
    const outcome: RecordedOutcome = {
      verdict: 'failed',
      status: 500,
      refusal: null,
      error: new TypeError('x is undefined'),
    };
    expect(describeFlow(forwardedFlow(), outcome)).toMatchObject({ code: 'internal.error', reason: 'x is undefined' });
  });

  test('what the stages learned before one refused is in the record', () => {
    const flow = forwardedFlow();
    const record = describeFlow(flow, refused(new Refusal('domain.not-allowed', 'no')));
    expect(record).toMatchObject({ sandbox: 'sbx-1', host: 'api.example.com', code: 'domain.not-allowed' });
  });

  test.each([
    ['origin-form with a Host', { connect: null }, { host: 'api.example.com', port: 443, path: '/v1/messages' }],
    [
      'absolute-form with a password in it',
      { target: 'http://user:planted@evil.example:8080/a?b=c', scheme: 'http' as const },
      { host: 'evil.example', port: 8080, path: '/a', query: 'b' },
    ],
    [
      'CONNECT with userinfo',
      { kind: 'connect' as const, method: 'CONNECT', target: 'user:planted@h.example:8443', connect: null },
      { host: 'h.example', port: 8443, path: '/', kind: 'connect' },
    ],
    [
      'HTTP/2',
      { protocol: 'h2' as const, authority: 'h2.example', connect: null },
      { host: 'h2.example', protocol: 'h2' },
    ],
    ['nothing at all', { target: '', connect: null, sni: null, headers: new HeaderList() }, { host: '', path: '' }],
  ])('of a request refused before it was understood: %s', (_name, over, expected) => {
    const record = describeFlow(arrivedFlow(over), refused(new Refusal('malformed.syntax', 'no')));
    expect(record).toMatchObject({ sandbox: null, proof: [], credential: null, upstream: null, ...expected });
    expect(JSON.stringify(record)).not.toContain('planted');
  });

  test('what of a credential was found where it does not belong', () => {
    const flow = { ...forwardedFlow(), incident: 'placeholder of github in the body' };
    expect(describeFlow(flow, allowed).incident).toBe('placeholder of github in the body');
  });

  test('what a model cost, under the name that its provider gives it', () => {
    const used = {
      model: `found-${'m'.repeat(200)}`,
      tokensIn: 120,
      tokensOut: 7,
      microDollars: 1_250,
      isEstimated: true,
    };
    const clean = (text: string): string => text.replaceAll('found', '***');
    const record = describeFlow({ ...forwardedFlow(), used }, allowed, clean);
    expect(record).toMatchObject({ tokens_in: 120, tokens_out: 7, cost_usd: 0.00125, tokens_estimated: true });
    expect(record.model).toMatch(/^\*\*\*-m+…$/);
    expect(Buffer.byteLength(record.model!)).toBe(80);
  });

  test('what must not be written down is taken out of every text that the sandbox has a say in', () => {
    const flow = forwardedFlow();
    const canonical = { ...flow.canonical, host: 'found.example', path: '/found', query: 'found=1' };
    const refusal = new Refusal('domain.not-allowed', 'found is not allowed');
    const clean = (text: string): string => text.replaceAll('found', '***');
    const record = describeFlow({ ...flow, canonical, asked: 'push found' }, refused(refusal), clean);
    expect(JSON.stringify(record)).not.toContain('found');
    expect(record).toMatchObject({ host: '***.example', path: '/***', query: '***', git: 'push ***' });
  });

  test('it is taken out before a text is cut: half of it would not be found', () => {
    const { request, ...flow } = arrivedFlow();
    const secret = 'a-credential-that-was-found-somewhere';
    const clean = (text: string): string => text.replaceAll(secret, '***');
    const asked = { ...request, method: secret, authority: `${'h'.repeat(240)}${secret}` };
    const refusal = new Refusal('malformed.syntax', `${'w'.repeat(1010)}${secret}`);
    const record = describeFlow({ ...flow, request: asked }, refused(refusal), clean);
    expect(record.method).toBe('***');
    expect(JSON.stringify(record)).not.toContain('a-cred');
  });

  test('long paths, many parameters and long methods are cut', () => {
    const flow = forwardedFlow();
    const canonical = { ...flow.canonical, path: `/${'p'.repeat(5000)}`, query: 'name=1&'.repeat(5000) };
    const record = describeFlow({ ...flow, canonical, request: { ...flow.request, method: 'M'.repeat(500) } }, allowed);
    expect(Buffer.byteLength(record.path)).toBe(1024);
    expect(Buffer.byteLength(record.query!)).toBeLessThanOrEqual(512);
    expect(Buffer.byteLength(record.method)).toBe(64);
    expect(record.cut).toMatch(
      /^method of 500 bytes, sha256 [0-9a-f]{32}; path of 5001 bytes, sha256 [0-9a-f]{32}(?:; query of \d+ bytes, sha256 [0-9a-f]{32})?$/,
    );
  });
});
