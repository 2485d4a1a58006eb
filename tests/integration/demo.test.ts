// `sallyport demo` as it is installed: one screen, true to the last word, without internet and without a key.
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClientRun } from '../support/run-client.ts';
import { makeRunGround, type RunGround, runUsers } from '../support/run-ground.ts';

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ allow: [] });
});
afterAll(() => ground.remove());

describe.each(runUsers)('as %s', (user) => {
  let shown: ClientRun;
  beforeAll(async () => {
    shown = await ground.sallyport(user, ['demo']);
  });

  test('it is one screen, and says what to do next', () => {
    expect(shown, shown.stdout).toMatchObject({ code: 0, stderr: '' });
    const lines = shown.stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(lines.at(-1)).toContain('sallyport run -- claude');
  });

  test('a request worked, with a key that the sandbox never held', () => {
    expect(shown.stdout).toMatch(/^worked {3}POST https:\/\/api\.anthropic\.com\/v1\/messages$/m);
    expect(shown.stdout).toMatch(/^ {2}sandbox holds +sk-ant-api03-sallyport-placeholder/m);
    expect(shown.stdout).toMatch(/^ {2}provider got +sk-ant-api03-(?!sall)\S{4}… \(45 characters\)$/m);
    expect(shown.stdout).toMatch(/^ {2}it answered +200 {2}Hello from the other side of the door\.$/m);
    expect(shown.stdout).toMatch(/^ {2}key file there ENOENT/m);
  });

  test('six were refused, each with the words that the sandbox got', () => {
    const lines = shown.stdout.split('\n');
    const words = lines.flatMap((line, at) => (line.startsWith('refused ') ? [lines[at + 1]!.trim()] : []));
    expect(words).toEqual([
      expect.stringMatching(/^attacker\.example is not on the allowlist of sbx_/),
      '203.0.113.9 is an address: use the name of the host',
      expect.stringMatching(/^main is a protected branch/),
      expect.stringMatching(/^this push would rewrite sandbox\/work/),
      expect.stringMatching(/^acme\/payroll is not among the repositories of sbx_/),
      'DELETE /repos/acme/widgets is blocked by policy',
    ]);
    expect(shown.stdout).toContain('None of the six reached a provider.');
  });
});

test('as data, and nothing is left behind', async () => {
  const own = mkdtempSync(join(ground.homeOf('root'), 'tmp-'));
  const { code, stdout } = await ground.sallyport('root', ['demo', '--json'], { env: { TMPDIR: own } });
  const told = JSON.parse(stdout) as { ok: boolean; refused: { code: string }[]; problems: string[] };
  expect(code).toBe(0);
  expect(told).toMatchObject({ ok: true, problems: [], launcher: 'bubblewrap' });
  expect(told.refused.map((one) => one.code)).toContain('push.force');
  expect(readdirSync(own)).toEqual([]);
});

test('without git it does not pretend', async () => {
  const { code, stderr } = await ground.sallyport('root', ['demo'], { env: { PATH: '/nonexistent' } });
  expect(code).toBe(1);
  expect(stderr).toContain('git');
});
