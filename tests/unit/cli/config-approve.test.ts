import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noteRunningWriter, type RunningWriter } from '../../../src/sandbox/traps/running-writers.ts';
import { isDoubtful } from '../../../src/sandbox/traps/written-folders.ts';
import { runWith } from './command-line.ts';

let base: string;
let home: string;
let project: string;
let config: string;
let writer: RunningWriter;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-approve-'));
  home = join(base, 'state');
  project = join(base, 'project');
  config = join(project, 'sallyport.yaml');
  mkdirSync(project);
  writeFileSync(config, 'version: 1\n');
  writer = noteRunningWriter(home, { sandbox: 'sbx_a', folders: [project], seesAll: false });
  writer.keepFrom([config]);
});

afterEach(() => {
  writer.end();
  rmSync(base, { recursive: true, force: true });
});

const approve = (...files: string[]) => runWith(['config', 'approve', ...files], { home, cwd: project });

function replace(): void {
  writeFileSync(join(project, 'saved'), 'version: 1\n');
  renameSync(join(project, 'saved'), config);
}

describe('sallyport config approve', () => {
  test('takes the user’s word when the sandbox has ended, not before', async () => {
    replace();
    const early = await approve();
    expect(early.code).toBe(1);
    expect(early.err).toContain('was replaced while sandbox sbx_a could write there');
    expect(early.err).toContain('until the sandbox has ended');
    writer.end();
    const late = await approve('sallyport.yaml');
    expect([late.code, late.out]).toEqual([0, `approved ${config}: a gateway that uses it loads it again.\n`]);
    expect(isDoubtful(home, config)).toBe(false);
  });

  test('config check says of such a one that it is not followed, and what to do', async () => {
    const check = () => runWith(['config', 'check'], { home, cwd: project });
    expect((await check()).err).not.toContain('not followed yet');
    replace();
    const early = await check();
    expect([early.code, early.out]).toEqual([0, expect.stringContaining(`ok ${config}`)]);
    expect(early.err).toContain(`not followed yet ${config} was replaced while sandbox sbx_a could write there`);
    expect(early.err).toContain('its changes are not used until the sandbox has ended');
    writer.end();
    expect((await check()).err).toContain(`If it is yours: sallyport config approve '${config}'`);
    const json = JSON.parse((await runWith(['config', 'check', '--json'], { home, cwd: project })).out);
    expect(json).toMatchObject({ ok: true, doubt: expect.stringContaining('was replaced') });
  });

  test('has nothing to say of one that is not in doubt, and knows one that is not there', async () => {
    const fine = await approve();
    expect([fine.code, fine.out]).toEqual([0, `${config} needs no approval: no sandbox could have written it.\n`]);
    const missing = await approve('other.yaml');
    expect(missing.code).toBe(2);
    expect(missing.err).toContain(`there is no configuration ${join(project, 'other.yaml')}`);
  });
});
