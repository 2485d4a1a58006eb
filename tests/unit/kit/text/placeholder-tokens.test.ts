import { describe, expect, test } from 'vitest';
import { placeholderMark, placeholderSigns } from '../../../../src/kit/text/placeholder.ts';
import {
  placeholderAccount,
  placeholderAddress,
  placeholderTokens,
  type TokenShape,
} from '../../../../src/kit/text/placeholder-tokens.ts';

const shapes: readonly TokenShape[] = ['claude', 'chatgpt', 'google', 'copilot', 'generic'];
const nowMs = Date.UTC(2027, 0, 1);

describe('placeholders in the shape of a login', () => {
  test.each(shapes)('every token of %s says what it is and for which credential', (shape) => {
    const { accessToken, refreshToken, idToken } = placeholderTokens(shape, 'my-login', nowMs);
    for (const token of [accessToken, refreshToken, ...(idToken === null ? [] : [idToken])]) {
      expect(placeholderSigns('my-login').some((sign) => token.includes(sign))).toBe(true);
      expect(placeholderSigns('my').some((sign) => token.includes(sign))).toBe(false);
      // Fits into a header, a form and JSON as it is.
      expect(token).toMatch(/^[\w./-]+$/);
    }
  });

  test('a JWT has claims that end, about an account that is nobody', () => {
    const { idToken, expiresInSeconds } = placeholderTokens('chatgpt', 'chatgpt', nowMs);
    const [head, claims, signature] = idToken!.split('.').map((part) => Buffer.from(part, 'base64url'));
    expect(JSON.parse(head!.toString())).toMatchObject({ typ: 'JWT' });
    expect(JSON.parse(claims!.toString())).toMatchObject({
      exp: nowMs / 1000 + expiresInSeconds,
      email: placeholderAddress,
      'https://api.openai.com/auth': { chatgpt_account_id: placeholderAccount },
    });
    expect(signature!.length).toBeGreaterThan(0);
  });

  test('account and address are no placeholders to be looked for: agents show them to hosts that get no credential', () => {
    for (const text of [placeholderAccount, placeholderAddress]) expect(text).not.toContain(placeholderMark);
  });

  test('two sandboxes get the same: nothing of anybody is in them', () => {
    for (const shape of shapes) {
      expect(placeholderTokens(shape, 'one', nowMs)).toEqual(placeholderTokens(shape, 'one', nowMs));
    }
  });
});
