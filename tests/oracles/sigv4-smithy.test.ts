import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clientFlow,
  judged,
  realKeys,
  resign,
  strictly,
  temporaryKeys,
} from '../unit/stages/inject/aws/sigv4-ground.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,11}$/);
/** Segments as clients encode them; a segment of dots is refused before. */
const path = fc
  .array(
    text.filter((part) => part !== '' && !/^\.{1,2}$/.test(part) && !/[\p{Cc}\\/%]/u.test(part)),
    { maxLength: 4 },
  )
  .map((parts) => `/${parts.map(strictly).join('/')}`);
const visible = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);
/** What the library drops or takes for its own: an empty name, and parameters of signatures. */
const name = text.filter((one) => one !== '' && one !== '__proto__' && !/^x-amz-|awsaccesskeyid/i.test(one));
const once = fc.dictionary(name, text, { maxKeys: 4 });
const often = fc.dictionary(name, fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 3 })), { maxKeys: 4 });
const headers = fc.dictionary(
  word.map((one) => `x-amz-meta-${one}`),
  visible.map((one) => ` ${one}  ${one}`),
  { maxKeys: 3 },
);
const keys = fc.constantFrom(realKeys, temporaryKeys);
const method = fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'HEAD');
const body = fc.option(fc.uint8Array({ maxLength: 3000 }).map(Buffer.from), { nil: undefined });
const runs = { numRuns: 150 };

describe('what is signed anew is what another implementation of Signature Version 4 expects', () => {
  test('for S3, whose paths are encoded once', async () => {
    await fc.assert(
      fc.asyncProperty(method, path, once, headers, body, keys, async (m, p, query, fields, sent, real) => {
        const flow = await clientFlow({ method: m, path: p, query, headers: fields, ...(sent && { body: sent }) });
        expect(await judged(flow, await resign(flow, real), real)).toMatchObject({ valid: true });
      }),
      runs,
    );
  });

  test('for other services, whose paths are encoded twice and whose bodies are hashed here', async () => {
    await fc.assert(
      fc.asyncProperty(method, path, often, headers, body, keys, async (m, p, query, fields, sent, real) => {
        const host = 'bedrock-runtime.us-east-1.amazonaws.com';
        const at = { host, region: 'us-east-1', service: 'bedrock' };
        const flow = await clientFlow({
          ...at,
          method: m,
          path: p,
          query,
          headers: fields,
          ...(sent && { body: sent }),
        });
        expect(await judged(flow, await resign(flow, real), real)).toMatchObject({ valid: true });
      }),
      runs,
    );
  });

  test('for presigned URLs', async () => {
    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        once,
        keys,
        fc.integer({ min: 1, max: 604_800 }),
        async (m, p, query, real, life) => {
          const flow = await clientFlow({ method: m, path: p, query, expiresIn: life });
          expect(await judged(flow, await resign(flow, real), real)).toMatchObject({ valid: true });
        },
      ),
      runs,
    );
  });
});
