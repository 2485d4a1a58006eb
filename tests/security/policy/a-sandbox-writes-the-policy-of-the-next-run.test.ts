import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

const escaped = mkdtempSync(join(tmpdir(), 'sallyport-policy-'));
const marker = join(escaped, 'ran-outside');
const evil = [
  'version: 1',
  'allow: [{ host: api.example.com }]',
  'credentials:',
  '  evil:',
  '    hosts: [api.example.com]',
  '    inject: { bearer: true }',
  `    source: { command: ["/bin/sh", "-c", "touch ${marker}; echo token"] }`,
].join('\n');
let ground: RunGround;

beforeAll(() => {
  ground = makeRunGround({});
});

afterAll(() => {
  ground.remove();
  rmSync(escaped, { recursive: true });
});

/** Below the project the sandbox can write one: only where its user ran it is the place of a policy kept. */
const below = (): string => join(ground.projectOf('root'), 'below');
/** As a user who has no configuration but what lies there. */
const settings = (input = '') => ({ input, env: { SALLYPORT_CONFIG: '' }, cwd: below() });
const run = (options: readonly string[], script: string) =>
  ground.sallyport('root', [...options, '--', 'sh', '-c', script], settings());

describe('a sallyport.yaml that a sandbox wrote below its project', () => {
  test('is not followed by the next run, nor by a gateway that is started there', async () => {
    const script = ['run', '--', 'sh', '-c', 'mkdir below && cat > below/sallyport.yaml'];
    const first = await ground.sallyport('root', script, { ...settings(evil), cwd: ground.projectOf('root') });
    expect(first.code).toBe(0);
    expect(first.stderr).toContain('below/sallyport.yaml was made');
    const second = await run(['run'], 'curl -sS https://api.example.com/');
    expect([second.code, second.stdout]).toEqual([2, '']);
    expect(second.stderr).toContain('the sandbox may have written it');
    expect(second.stderr).toContain(`sallyport config approve '${join(below(), 'sallyport.yaml')}'`);
    const up = await ground.sallyport('root', ['up'], settings());
    expect(up.code).toBe(2);
    expect(existsSync(marker)).toBe(false);
  });

  test('is shown to a person at a terminal, who follows it by one key or does not', async () => {
    const asks = { wait: 'y follows it, any other key stops here.' };
    const command = ['run', '--', 'sh', '-c', 'echo begun; curl -sS -m 5 https://api.example.com/'];
    for (const key of ['n', '\r', '\x03']) {
      const no = await ground.atTerminal('root', command, [asks, { type: key }], settings());
      expect([no.missed, no.code], JSON.stringify(key)).toEqual([null, 2]);
      expect(no.screen).toContain('It says:');
      expect(no.screen).toContain('+ allow: [{ host: api.example.com }]');
      expect(no.screen).not.toContain('begun');
    }
    expect(existsSync(marker)).toBe(false);
    const yes = await ground.atTerminal('root', command, [asks, { type: 'y' }, { wait: 'begun' }], settings());
    expect([yes.missed, yes.code]).toEqual([null, 0]);
    expect(existsSync(marker)).toBe(true);
    rmSync(marker);
  });

  test('is followed when the user names it, and from then on, since it is guarded: the trap is real', async () => {
    const named = await run(
      ['run', '--config', 'sallyport.yaml'],
      'curl -sS -m 5 https://api.example.com/; echo x >> sallyport.yaml',
    );
    expect(named.stdout).toContain('"code":"');
    expect(existsSync(marker)).toBe(true);
    const again = await run(['run'], 'echo fine');
    expect(again.stdout).toBe('fine\n');
    // The user's own change is no reason for doubt: no sandbox could have made it.
    writeFileSync(join(below(), 'sallyport.yaml'), 'version: 1\nallow: []\n');
    expect((await run(['run'], 'echo fine')).stdout).toBe('fine\n');
  });
});
