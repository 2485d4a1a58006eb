import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../support/attack-ground.ts';
import { runClient } from '../support/run-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

function curl(version: string) {
  const { proxyUrl, caPath } = ground.gateway;
  const asked = ['-H', 'Accept-Encoding: gzip, br, zstd', '-x', proxyUrl, '--cacert', caPath];
  return runClient('curl', [
    '-sSi',
    '--suppress-connect-headers',
    '-m',
    '10',
    version,
    ...asked,
    'https://api.example/fine',
  ]);
}

function compressed(coding: string, body: Buffer, framing: 'length' | 'chunks'): string {
  const bytes = body.toString('latin1');
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nETag: "abc"\r\nContent-Digest: sha-256=:AA==:\r\n`;
  if (framing === 'length') return `${head}Content-Length: ${body.length}\r\n\r\n${bytes}`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`;
}

const page = Buffer.from(`{"filler":"${'x'.repeat(5000)}","key":"${plantedKey}"}`);
const readable = [
  ['gzip', gzipSync(page)],
  ['x-gzip', gzipSync(page)],
  ['deflate', deflateSync(page)],
  ['br', brotliCompressSync(page)],
] as const;

describe.each(['--http1.1', '--http2'])('over curl %s, a credential does not come back inside a coding', (version) => {
  test.each(readable)('%s, which nobody asked the upstream for, is taken off', async (coding, body) => {
    for (const framing of ['length', 'chunks'] as const) {
      ground.upstream.forget();
      ground.upstream.answerWith(() => compressed(coding, body, framing));
      const { stdout, stderr } = await curl(version);
      expect(stderr).toBe('');
      expect(stdout).toContain(`"key":"${'*'.repeat(plantedKey.length)}"`);
      // What was said of the compressed bytes is not said of these.
      expect(stdout).not.toMatch(/^(content-encoding|content-digest|etag)/im);
      expect(ground.upstream.bytes).toMatch(/^accept-encoding: identity\r$/im);
      expect(ground.upstream.bytes).not.toContain('zstd');
    }
  });

  test.each([
    ['zstd', 'zstd'],
    ['a name nobody knows', 'secret-coding'],
    ['two at once', 'gzip, br'],
  ])('what cannot be read is refused: %s', async (_what, coding) => {
    ground.upstream.answerWith(() => compressed(coding, Buffer.from(`.${plantedKey}.`), 'length'));
    const { stdout } = await curl(version);
    expect(stdout).toMatch(/^HTTP\/[\d.]+ 502/);
    expect(stdout).toContain('"code":"upstream.protocol"');
    expect(stdout).not.toContain(plantedKey);
  });

  test('a coding that breaks off never looks whole', async () => {
    const half = gzipSync(page).subarray(0, 60);
    ground.upstream.answerWith(() => compressed('gzip', half, 'length'));
    const { code } = await curl(version);
    expect(code).not.toBe(0);
  });
});
