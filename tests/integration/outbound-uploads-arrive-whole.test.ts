import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderFor } from '../../src/kit/text/placeholder.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const host = 'api.example';
const realKey = 'the-real-key-0815';
let gateway: TestGateway;
let closeUpstream: () => Promise<void>;
let folder: string;

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], (request, response) => {
    const hash = createHash('sha256');
    request.on('data', (chunk: Buffer) => hash.update(chunk));
    request.on('end', () => {
      const isReal = request.headers['x-api-key'] === realKey;
      response.end(`${isReal ? 'with the real key' : 'without'} ${hash.digest('hex')}`);
    });
  });
  closeUpstream = upstream.close;
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', realKey);
  folder = mkdtempSync(join(tmpdir(), 'sallyport-uploads-'));
});

afterAll(async () => {
  await gateway.stop();
  await closeUpstream();
  rmSync(folder, { recursive: true, force: true });
});

/** What agents and tools send: noise, text that is full of beginnings, compressed text, their own placeholder. */
const bodies: readonly (readonly [name: string, body: Buffer, fields: readonly string[]])[] = [
  ['noise', randomBytes(3_000_000), []],
  [
    'text',
    Buffer.from(
      JSON.stringify({ key: placeholderFor('key'), t: 'sallyport-placeholder-for-%73 \\u0073 '.repeat(40_000) }),
    ),
    [],
  ],
  ['gzip', gzipSync(Buffer.from('a line of a log\n'.repeat(200_000))), ['Content-Encoding: gzip']],
];

describe('what ordinary clients upload arrives as it was sent', () => {
  test.each(
    bodies.flatMap(([name, body, fields]) =>
      (['--http1.1', '--http2'] as const).flatMap((version) =>
        [[], ['-H', 'Transfer-Encoding: chunked']].map(
          (form) => [`${name} ${version} ${form.length > 0 ? 'in chunks' : ''}`, body, fields, version, form] as const,
        ),
      ),
    ),
  )('curl: %s', async (_what, body, fields, version, form) => {
    const file = join(folder, 'body');
    writeFileSync(file, body);
    const asked = [...fields, `x-api-key: ${placeholderFor('key')}`].flatMap((field) => ['-H', field]);
    const args = ['-sS', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath, ...form, ...asked];
    const { stdout, stderr } = await runClient('curl', [...args, '-T', file, `https://${host}/upload`]);
    expect(stderr).toBe('');
    expect(stdout).toBe(`with the real key ${createHash('sha256').update(body).digest('hex')}`);
  });
});
