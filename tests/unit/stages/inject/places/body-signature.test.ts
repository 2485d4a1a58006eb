// Signatures as the services document them, and as openssl makes them.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { HmacSignature } from '../../../../../src/policy/compiled.ts';
import { signatureFields } from '../../../../../src/stages/inject/places/body-signature.ts';

const plain: HmacSignature = { format: 'hex', algorithm: 'sha256', header: 'X-Signature', prefix: '' };

test("GitHub's own example", () => {
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  const github: HmacSignature = { ...plain, header: 'X-Hub-Signature-256', prefix: 'sha256=' };
  expect(signatureFields(github, "It's a Secret to Everybody", Buffer.from('Hello, World!'), 0)).toEqual([
    ['X-Hub-Signature-256', 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'],
  ]);
});

test("Slack's own example", () => {
  // https://api.slack.com/authentication/verifying-requests-from-slack
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const slack: HmacSignature = { format: 'slack', algorithm: 'sha256', header: 'X-Slack-Signature', prefix: '' };
  const fields = signatureFields(slack, '8f742231b10e8888abcd99yyyzzz85a5', Buffer.from(body), 1_531_420_618_000);
  expect(fields).toEqual([
    ['X-Slack-Request-Timestamp', '1531420618'],
    ['X-Slack-Signature', 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'],
  ]);
});

describe('as openssl makes them', () => {
  const key = 'whsec_a/key+of=many&letters';
  const body = Buffer.from([0, 1, 2, 0xff, 0xfe, 0x0a, 0x41]);
  const openssl = (algorithm: string, input: Buffer): Buffer =>
    execFileSync('openssl', ['dgst', `-${algorithm}`, '-hmac', key, '-binary'], { input });

  test.each(['sha1', 'sha256', 'sha512'] as const)('%s, in hexadecimal and base64', (algorithm) => {
    const expected = openssl(algorithm, body);
    const hex = { ...plain, algorithm, prefix: `${algorithm}=` };
    expect(signatureFields(hex, key, body, 0)).toEqual([['X-Signature', `${algorithm}=${expected.toString('hex')}`]]);
    const base64: HmacSignature = { ...plain, format: 'base64', algorithm };
    expect(signatureFields(base64, key, body, 0)).toEqual([['X-Signature', expected.toString('base64')]]);
  });

  test('Stripe: the time and the body', () => {
    const stripe: HmacSignature = { ...plain, format: 'stripe', header: 'Stripe-Signature' };
    const expected = openssl('sha256', Buffer.concat([Buffer.from('1492774577.'), body])).toString('hex');
    expect(signatureFields(stripe, key, body, 1_492_774_577_999)).toEqual([
      ['Stripe-Signature', `t=1492774577,v1=${expected}`],
    ]);
  });
});
