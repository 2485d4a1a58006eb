// A credential that signs the body (HMAC), as senders of webhooks do: Slack, Stripe, GitHub, and plain ones. The key itself is
// never sent.
import { createHmac } from 'node:crypto';
import type { HmacSignature } from '../../../policy/compiled.ts';

/** The fields that carry the signature of `body`, made at `nowMs`. */
export function signatureFields(
  hmac: HmacSignature,
  key: string,
  body: Buffer,
  nowMs: number,
): (readonly [name: string, value: string])[] {
  const { algorithm, header, prefix } = hmac;
  const seconds = String(Math.floor(nowMs / 1000));
  const digest = (before: string): Buffer => createHmac(algorithm, key).update(before).update(body).digest();
  switch (hmac.format) {
    case 'slack':
      return [
        ['X-Slack-Request-Timestamp', seconds],
        [header, `v0=${digest(`v0:${seconds}:`).toString('hex')}`],
      ];
    case 'stripe':
      return [[header, `t=${seconds},v1=${digest(`${seconds}.`).toString('hex')}`]];
    case 'hex':
      return [[header, `${prefix}${digest('').toString('hex')}`]];
    case 'base64':
      return [[header, `${prefix}${digest('').toString('base64')}`]];
  }
}
