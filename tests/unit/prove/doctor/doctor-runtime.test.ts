import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InsideLine, insideScript, readLine } from '../../../../src/prove/doctor/inside-script.ts';
import { judgeRuntime, judgeTried } from '../../../../src/prove/doctor/judge-runtime.ts';
import { answerWord, type Runtime, runtimes, slugOf } from '../../../../src/prove/doctor/runtimes.ts';

const curl = runtimes.find(({ name }) => name === 'curl')!;
const line = (more: Partial<InsideLine> = {}): InsideLine => ({
  slug: 'curl',
  ended: 0,
  out: `${answerWord}\n`,
  err: '',
  ...more,
});
const judge = (more: Partial<InsideLine>, arrived = false, refused: string | null = null) =>
  judgeRuntime(curl, { line: line(more), arrived, refused });

describe('why a runtime failed', () => {
  test('it is well when its request arrived and its answer came back, and not by its word alone', () => {
    expect(judge({}, true).state).toBe('ok');
    expect(judge({}, false).state).toBe('fail');
    expect(judge({ out: '' }, true).state).toBe('fail');
    expect(judge({ ended: 1 }, true).state).toBe('fail');
  });

  test.each([
    ['curl: (60) SSL certificate problem: unable to get local issuer certificate', 'does not trust', 'CURL_CA_BUNDLE'],
    ['curl: (6) Could not resolve host: doctor.example', 'does not find the name', 'resolv.conf'],
    ['curl: (7) Failed to connect to doctor.example port 443: Connection refused', 'does not reach', 'proxy'],
    ['curl: (2) out of memory', 'failed before it sent a request (exit 60)', 'docs/clients.md'],
  ])('%s', (err, says, fix) => {
    const finding = judge({ ended: 60, out: '', err: `* noise\n${err}\n` });
    expect(finding.state).toBe('fail');
    expect(finding.says).toContain(says);
    expect(finding.says).toContain(err);
    expect(finding.fix).toContain(fix);
  });

  test('a refusal is told in the words of the gateway, whatever the runtime made of it', () => {
    const finding = judge({ ended: 22, out: '', err: 'certificate' }, false, 'not on the allowlist');
    expect(finding.says).toBe('refused: not on the allowlist');
  });

  test('the time that ran out, what is absent, and a sandbox that said nothing', () => {
    expect(judge({ ended: 124, out: '' }).says).toContain('in time');
    expect(judge({ ended: 'absent' })).toMatchObject({ state: 'absent', says: 'not in the sandbox' });
    expect(judgeRuntime(curl, { line: null, arrived: true, refused: null }).state).toBe('fail');
  });
});

test('a sandbox in which nothing could be tried is not called well', () => {
  const gone = judge({ ended: 'absent' });
  expect(judgeTried([gone])[0]).toMatchObject({ state: 'warn', name: 'runtimes' });
  expect(judgeTried([gone, judge({}, true)])).toHaveLength(2);
});

describe('the script that tries them', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-doctor-script-'));
    mkdirSync(join(folder, 'work'));
    writeFileSync(join(folder, 'tool'), '#!/bin/sh\necho "asked $1"\necho "curl 0 - -" >&2\nexit 3\n');
    chmodSync(join(folder, 'tool'), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const runtime = (name: string, more: Partial<Runtime> = {}): Runtime => ({
    ...curl,
    name,
    program: 'tool',
    script: 'tool "$URL"',
    ...more,
  });

  test('says of each how it ended and what it printed, and takes no line of theirs for its own', () => {
    const tried = [
      runtime('one'),
      runtime('two words', { script: `printf 'it'\\''s' ; exec tool x` }),
      runtime('gone', { program: 'no-such-tool' }),
      runtime('half', { needs: { test: 'exit 1', missing: 'x' } }),
      runtime('slow', { script: 'sleep 20' }),
    ];
    const ran = spawnSync('sh', ['-c', insideScript(tried, 2, 1)], {
      cwd: join(folder, 'work'),
      env: { PATH: `${folder}:/usr/bin:/bin` },
      encoding: 'utf8',
    });
    const lines = ran.stdout.trim().split('\n').map(readLine);
    expect(lines).toHaveLength(5);
    const of = (slug: string) => lines.find((one) => one?.slug === slug);
    expect(of('one')).toEqual({
      slug: 'one',
      ended: 3,
      out: 'asked https://doctor.example/one\n',
      err: 'curl 0 - -\n',
    });
    expect(of('two-words')?.out).toBe("it'sasked x\n");
    expect([of('gone')?.ended, of('half')?.ended, of('slow')?.ended]).toEqual(['absent', 'lacking', 124]);
    expect(readLine('something else')).toBeNull();
  });

  test('every runtime has a name and a path of its own', () => {
    const slugs = runtimes.map(({ name }) => slugOf(name));
    expect(new Set(slugs).size).toBe(slugs.length);
    for (const { asks } of runtimes)
      expect(
        runtimes.filter((other) => other.asks.startsWith(asks)),
        asks,
      ).toHaveLength(1);
  });

  test('none of them is told not to verify, nor where the CA is', () => {
    for (const { script } of runtimes)
      expect(script).not.toMatch(/insecure|no-check|verify=False|--ca|CAfile|strict-ssl/);
  });
});
