// Guards: the user's login. A refresh token is good once; whoever exchanges it and dies before the next one is on the disk
// has logged the user out, and whoever leaves half a file behind has done so for all that was in it.
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { bystanders, type RenewingGround, startRenewingGround } from './renewing-ground.ts';

let ground: RenewingGround;

beforeAll(async () => {
  ground = await startRenewingGround();
});
afterAll(() => ground.close());

const kills = 12;

/** A lock that nobody has touched for a while is nobody's. */
function letTimePass(lock: string): void {
  if (existsSync(lock)) utimesSync(lock, new Date(0), new Date(0));
}

test('by kill -9 at any moment: the file is the old one or the new one, whole', async () => {
  let sawProgress = 0;
  // And once more where none of them has got far enough to be interrupted at work.
  for (let i = 0; i < kills || sawProgress === 0; i++) {
    const before = ground.exchanges();
    const driver = await ground.start(10_000);
    driver.go();
    await eventually(() => driver.output().includes('renewed'), 'the first token of this process');
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    driver.child.kill('SIGKILL');
    await driver.ended;
    letTimePass(`${ground.file}.sallyport-lock`);
    expect(driver.output()).not.toContain('FAULT');
    const { tokens, last_refresh, ...rest } = JSON.parse(readFileSync(ground.file, 'utf8')) as Record<string, unknown>;
    expect(rest).toEqual(bystanders);
    expect(tokens).toMatchObject({ account_id: 'a', refresh_token: ground.refreshInFile() });
    expect(typeof last_refresh).toBe('string');
    // The one in force, or the one before it: then the answer was on its way, or had just come.
    const last = Number(ground.current().slice('refresh-'.length));
    expect([last, last - 1]).toContain(Number(ground.refreshInFile().slice('refresh-'.length)));
    if (ground.exchanges() - before > 1) sawProgress++;
    ground.takeFile();
  }
  // Every token that was sent was on the disk before it was sent: none lived in memory alone.
  expect(ground.faults).toEqual([]);
}, 120_000);

test('what a killed process leaves beside the file does not stop the next, and the lock is not left for ever', async () => {
  const driver = await ground.start(3);
  driver.go();
  await driver.ended;
  expect(driver.output()).toBe('ready\nrenewed\nrenewed\nrenewed\n');
  expect(ground.faults).toEqual([]);
  expect(readdirSync(ground.folder).filter((name) => name.endsWith('lock'))).toEqual([]);
});
