import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openKept } from '../../../../src/gateway/build/open-kept.ts';
import { placesIn } from '../../../../src/kit/files/home.ts';
import { HomeInUse } from '../../../../src/kit/files/home-in-use.ts';
import { createLog } from '../../../../src/kit/text/log.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-kept-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const open = () =>
  openKept({ home, config: null, guest: true, doors: 'sandboxes', log: createLog({ level: 'silent' }) });

test('what is kept has one owner at a time, and another when it is closed', async () => {
  const kept = await open();
  await expect(open()).rejects.toBeInstanceOf(HomeInUse);
  await kept.close();
  await (await open()).close();
});

test('to close it twice is to close it once', async () => {
  const kept = await open();
  await Promise.all([kept.close(), kept.close()]);
  await (await open()).close();
});

test('registrations that cannot be read let go of the journal: the next start finds it free', async () => {
  const { registryFile } = placesIn(home);
  writeFileSync(registryFile, 'no registrations', { mode: 0o600 });
  await expect(open()).rejects.toMatchObject({ code: 'registry.unreadable' });
  rmSync(registryFile);
  await (await open()).close();
});
