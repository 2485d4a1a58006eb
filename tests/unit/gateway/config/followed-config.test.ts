import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLineOffer } from '../../../../src/gateway/build/offer-line.ts';
import { followOnlyTheUsers, reportReloads } from '../../../../src/gateway/config/followed-config.ts';
import { createLog } from '../../../../src/kit/text/log.ts';
import type { Asked } from '../../../../src/path/approvals.ts';
import { ConfigInDoubt } from '../../../../src/policy/load/config-in-doubt.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';
import { noteRunningWriter, type RunningWriter } from '../../../../src/sandbox/traps/running-writers.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

let folder: string;
let file: string;
let writer: RunningWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-followed-'));
  file = join(folder, 'sallyport.yaml');
  writeFileSync(file, 'version: 1\nallow: [{ host: "*", ask: true }]\n');
  const state = join(folder, 'starters');
  writer = noteRunningWriter(state, { sandbox: 'sbx_a', folders: [folder], seesAll: false });
  writer.keepFrom([file]);
});

afterEach(() => {
  writer.end();
  rmSync(folder, { recursive: true });
});

function replace(): void {
  writeFileSync(join(folder, 'new'), 'version: 1\nallow:\n  - host: b.example\n');
  renameSync(join(folder, 'new'), file);
}

const places = () => ({ home: join(folder, 'own'), startersHome: join(folder, 'starters') });

describe('the configuration of a gateway', () => {
  test('is followed until it is replaced under a sandbox, also where the gateway has a state directory of its own', () => {
    const check = followOnlyTheUsers(places(), file);
    expect(check).not.toThrow();
    replace();
    expect(check).toThrow(ConfigInDoubt);
    expect(followOnlyTheUsers({ home: places().startersHome }, file)).toThrow(ConfigInDoubt);
  });

  test('that is no file is beyond the reach of sandboxes', () => {
    replace();
    for (const none of [null, 'the policy given in code']) expect(followOnlyTheUsers(places(), none)).not.toThrow();
  });

  test('gets no line for `always` while it is in doubt, neither shown nor written', async () => {
    let reloads = 0;
    const offer = createLineOffer({
      policy: () => ({ ...handMadePolicy({}), origin: file }),
      machine: { ...thisMachine(), run: async () => null },
      checkMayFollow: followOnlyTheUsers(places(), file),
      reload: async () => {
        reloads++;
      },
    });
    const asked: Asked = {
      ...{ sandbox: 'sbx_a', method: 'GET', scheme: 'https', host: 'new.example', port: 443, path: '/x', query: null },
      ...{ rule: 'allow[0]', credential: null, effect: null, repository: null, requestId: 'req_1', reason: null },
    };
    const { write } = await offer(asked, 'host');
    replace();
    await expect(write()).rejects.toMatchObject({ reason: 'not-so', message: expect.stringContaining('was replaced') });
    await expect(offer(asked, 'host')).rejects.toMatchObject({ hint: expect.stringContaining('config approve') });
    expect([readFileSync(file, 'utf8').includes('new.example'), reloads]).toEqual([false, 0]);
  });
});

test('a doubt is told once, however often the file changes, and told again when it comes again', () => {
  const lines: string[] = [];
  const log = createLog({ format: 'json', write: (line) => lines.push(line) });
  const report = reportReloads(log, () => handMadePolicy({}));
  const doubt = new ConfigInDoubt('f was replaced', 'Read it.', true);
  for (const error of [doubt, doubt, null, doubt, new Error('line 1'), new Error('line 1')]) report(error);
  const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(said).toEqual([
    expect.stringContaining('is not followed, and the old one stays in force: f was replaced. Read it.'),
    expect.stringContaining('is in force'),
    expect.stringContaining('is not followed'),
    expect.stringContaining('is not valid'),
    expect.stringContaining('is not valid'),
  ]);
});
