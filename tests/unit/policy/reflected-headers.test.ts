import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isReflected, reflectedHeaders } from '../../../src/policy/reflected-headers.ts';

describe('a field that upstreams commonly send back', () => {
  test.each([
    'User-Agent',
    'referer',
    'Origin',
    'X-Request-Id',
    'X_Request_ID',
    'traceparent',
    'Host',
    'Accept-Language',
    'Content-Type',
    'Forwarded',
    'Via',
    'Range',
    'If-None-Match',
    'Access-Control-Request-Headers',
    'Sec-WebSocket-Protocol',
  ])('%s is known for it, in any case and spelling', (name) => {
    expect(isReflected(name)).toBe(true);
  });

  test.each(['Authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'PRIVATE-TOKEN', 'Cookie', 'x-contents-key'])(
    '%s is not one: credentials go there',
    (name) => {
      expect(isReflected(name)).toBe(false);
    },
  );

  test('is listed in lower case, with no underscores', () => {
    for (const name of reflectedHeaders) expect(name).toMatch(/^[a-z0-9-]+$/);
  });

  test('carries no credential of any preset', () => {
    const presets = JSON.stringify(
      parse(readFileSync(new URL('../../../config/presets.yaml', import.meta.url), 'utf8')),
    );
    const fields = [...presets.matchAll(/"header":"([^"]+)"/g)].map((found) => found[1]!);
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter(isReflected)).toEqual([]);
  });
});
