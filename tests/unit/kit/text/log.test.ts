import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { maskText, namesSecret } from '../../../../src/kit/mask-text.ts';
import { createLog } from '../../../../src/kit/text/log.ts';
import { redact } from '../../../../src/kit/text/redact.ts';
import { copyRooms } from '../../stages/audit/plain-copy.ts';

describe('the log', () => {
  test('writes one JSON line with level, time, message and detail', () => {
    const lines: string[] = [];
    const log = createLog({ format: 'json', write: (line) => lines.push(line) });
    log.info('listening', { door: 'proxy 127.0.0.1:8080', max_tokens: 5 });
    expect(JSON.parse(lines[0]!)).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      msg: 'listening',
      door: 'proxy 127.0.0.1:8080',
      max_tokens: 5,
    });
  });

  test('says only what its level asks for', () => {
    const lines: string[] = [];
    const log = createLog({ format: 'json', level: 'warn', write: (line) => lines.push(line) });
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['c', 'd']);
  });

  test('goes to standard error by default, written when the call returns', () => {
    const root = mkdtempSync(join(tmpdir(), 'sallyport-log-'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    copyRooms(root, ['kit']);
    writeFileSync(
      join(root, 'speak.js'),
      `import { createLog } from './src/kit/text/log.js';
createLog().info('last words', { authorization: 'planted' });
process.kill(process.pid, 'SIGKILL');`,
    );
    const { stderr, stdout } = spawnSync(process.execPath, [join(root, 'speak.js')], { encoding: 'utf8' });
    expect(JSON.parse(stderr)).toMatchObject({ level: 'info', msg: 'last words', authorization: '***' });
    expect(stdout).toBe('');
  });
});

describe('masking leaves ordinary words alone', () => {
  test.each([
    'api.example.com is not on the allowlist of sbx-1',
    'the task-runner-of-the-build and the disk-usage-report were fine',
    'the basic authentication scheme; a bearer of news',
    'DELETE /repos/o/r is blocked by policy.blocked_api_patterns.DELETE[0]',
    'connect ECONNREFUSED 127.0.0.1:8443',
    'the secret proof is missing',
    'sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  ])('%s', (text) => {
    expect(maskText(text)).toBe(text);
  });

  test('masking twice is masking once', () => {
    const text = 'authorization: Bearer abcdefghijkl\n{"token":"x","a":1} https://u:p@h.example/?k=v password=abc';
    expect(maskText(maskText(text))).toBe(maskText(text));
  });

  test('names of credentials, counts and flags are shown', () => {
    expect(
      redact({ credential: 'anthropic', credentials: ['github'], max_tokens: 7, has_token: true, token: null }),
    ).toEqual({
      credential: 'anthropic',
      credentials: ['github'],
      max_tokens: 7,
      has_token: true,
      token: null,
    });
    expect(namesSecret('sandbox')).toBe(false);
    expect(namesSecret('tokenizer')).toBe(false);
  });
});
