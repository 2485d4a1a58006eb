import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { runClient } from '../../support/run-client.ts';

let ground: AttackGround;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-echo-'));
  ground = await openAttackGround();
});

afterAll(async () => {
  await ground.stop();
  rmSync(folder, { recursive: true, force: true });
});

function curl(version: string, args: readonly string[]) {
  const { proxyUrl, caPath } = ground.gateway;
  const through = ['-sSi', '--suppress-connect-headers', '-m', '30', version, '-x', proxyUrl, '--cacert', caPath];
  ground.upstream.forget();
  return runClient('curl', [...through, ...args, 'https://api.example/fine']);
}

function compressed(coding: string, body: Buffer, framing: 'length' | 'chunks'): string {
  const bytes = body.toString('latin1');
  const head =
    `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nETag: "abc"\r\nContent-Digest: sha-256=:AA==:\r\n` +
    'Vary: Accept-Encoding\r\nAccept-Ranges: bytes\r\n';
  if (framing === 'length') return `${head}Content-Length: ${body.length}\r\n\r\n${bytes}`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`;
}

const masked = '*'.repeat(plantedKey.length);
const page = Buffer.from(`{"filler":"${'x'.repeat(5000)}","key":"${plantedKey}"}`);
const readable = [
  ['gzip', gzipSync(page)],
  ['x-gzip', gzipSync(page)],
  ['deflate', deflateSync(page)],
  ['deflate', deflateRawSync(page)],
  ['br', brotliCompressSync(page)],
] as const;

describe.each(['--http1.1', '--http2'])('over curl %s, a credential does not come back inside a coding', (version) => {
  test.each(readable)('%s that the client asked for', async (coding, body) => {
    for (const framing of ['length', 'chunks'] as const) {
      ground.upstream.answerWith(() => compressed(coding, body, framing));
      const { stdout, stderr } = await curl(version, ['--compressed']);
      expect(stderr).toBe('');
      expect(stdout).toContain(`"key":"${masked}"`);
      expect(stdout).toMatch(new RegExp(`^content-encoding: ${coding}\r$`, 'im'));
      expect(stdout).toMatch(/^etag: W\/"abc"\r$/im);
      expect(stdout).toMatch(/^vary: accept-encoding\r$/im);
      // What was said of the bytes as they came is not said of these.
      expect(stdout).not.toMatch(/^(content-digest|content-length|accept-ranges)/im);
      expect(ground.upstream.bytes).toMatch(/^accept-encoding: deflate, gzip, br\r$/im);
    }
    const [last] = (await ground.gateway.journal()).slice(-1);
    expect(last).toMatchObject({ verdict: 'allowed', scrubbed: 1 });
  });

  test.each(readable)('%s that nobody asked for', async (coding, body) => {
    for (const framing of ['length', 'chunks'] as const) {
      ground.upstream.answerWith(() => compressed(coding, body, framing));
      const asIfAsked = await curl(version, ['--compressed', '-H', 'Accept-Encoding: identity']);
      expect(asIfAsked.stdout).toContain(`"key":"${masked}"`);
      expect(ground.upstream.bytes).toMatch(/^accept-encoding: identity\r$/im);
    }
  });

  test('a file in a coding that nobody asked for arrives byte for byte', async () => {
    const archive = gzipSync(Buffer.alloc(300_000, 'an archive of words '), { level: 9 });
    const path = join(folder, 'archive');
    ground.upstream.answerWith(() => compressed('x-gzip', archive, 'length'));
    const { proxyUrl, caPath } = ground.gateway;
    const { stdout } = await runClient('curl', [
      ...['-sS', '-m', '30', version, '-x', proxyUrl, '--cacert', caPath],
      ...['-D', '-', '--suppress-connect-headers', '-o', path, 'https://api.example/fine'],
    ]);
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    expect(digest(readFileSync(path))).toBe(digest(archive));
    expect(gunzipSync(readFileSync(path)).length).toBe(300_000);
    expect(stdout).toMatch(/^etag: "abc"\r$/im);
    expect(stdout).toMatch(new RegExp(`^content-length: ${archive.length}\r$`, 'im'));
  });

  test.each([
    ['zstd', 'zstd'],
    ['a name nobody knows', 'secret-coding'],
    ['two at once', 'gzip, br'],
  ])('what cannot be read is refused: %s', async (_what, coding) => {
    ground.upstream.answerWith(() => compressed(coding, Buffer.from(`.${plantedKey}.`), 'length'));
    const { stdout } = await curl(version, ['-H', 'Accept-Encoding: gzip, br, zstd']);
    expect(stdout).toMatch(/^HTTP\/[\d.]+ 502/);
    expect(stdout).toContain('"code":"upstream.protocol"');
    expect(stdout).toContain(`(${coding})`);
    expect(stdout).not.toContain(plantedKey);
    expect(ground.upstream.bytes).toMatch(/^accept-encoding: gzip, br\r$/im);
  });

  test('a coding that breaks off never looks whole, and is written down as a failure', async () => {
    const half = gzipSync(page).subarray(0, 60);
    ground.upstream.answerWith(() => compressed('gzip', half, 'length'));
    const { code } = await curl(version, ['--compressed']);
    expect(code).not.toBe(0);
    const [last] = (await ground.gateway.journal()).slice(-1);
    expect(last).toMatchObject({ verdict: 'failed' });
  });

  test('HEAD says what GET would say', async () => {
    ground.upstream.answerWith(() => `${compressed('gzip', gzipSync(page), 'length').split('\r\n\r\n', 1)[0]}\r\n\r\n`);
    const { stdout, stderr } = await curl(version, ['-I', '--compressed']);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^content-encoding: gzip\r$/im);
    expect(stdout).toMatch(/^etag: W\/"abc"\r$/im);
    expect(stdout).not.toMatch(/^(content-digest|content-length)/im);
  });
});
