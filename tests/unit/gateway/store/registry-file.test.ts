import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileRegistrations } from '../../../../src/gateway/store/file-registrations.ts';
import type { StoredRegistration } from '../../../../src/path/shared-store.ts';
import { registeredIn } from '../../../support/file-registry.ts';
import { seededRandom } from '../../../support/seeded-random.ts';

let directory: string;
let path: string;
let nowMs: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-registry-'));
  path = join(directory, 'registry.json');
  nowMs = 0;
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const made = (id: string, ip = `ip ${id}`, expiresAtMs = 1_000_000): StoredRegistration => ({
  id,
  claims: [`id ${id}`, ip],
  expiresAtMs,
  body: JSON.stringify({ id, ip, expires_at: new Date(expiresAtMs).toISOString() }),
});

const read = (sandbox: unknown): StoredRegistration => {
  const { id, ip, expires_at } = sandbox as { id: string; ip: string; expires_at: string };
  if (typeof id !== 'string') throw new Error('id: not a text');
  return made(id, ip, Date.parse(expires_at));
};

const openStore = (): FileRegistrations => new FileRegistrations({ path, read, now: () => nowMs });
const loaded = async (): Promise<readonly StoredRegistration[]> => openStore().load();
const idsAfterRestart = async (): Promise<string[]> => (await loaded()).map(({ id }) => id);
const text = (): string => readFileSync(path, 'utf8');
const lineCount = (): number => text().split('\n').length - 1;

/** Three that came one after another, of whom one is gone, and one end that has moved. */
async function shortHistory(): Promise<void> {
  const store = openStore();
  await store.load();
  for (const id of ['a', 'b', 'c']) await store.add(made(id));
  await store.remove('b');
  store.extend('a', 2_000_000);
  await store.close();
}

describe('a change is one line at the end', () => {
  test('beside 10,000 others it writes no more than alone', async () => {
    const store = openStore();
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => store.add(made(`s${i}`))));
    const before = { bytes: statSync(path).size, inode: statSync(path).ino };
    await store.add(made('last'));
    await store.remove('s77');
    expect(statSync(path).ino).toBe(before.inode);
    expect(statSync(path).size - before.bytes).toBeLessThan(300);
    const ids = await idsAfterRestart();
    expect(ids).toHaveLength(10_000);
    expect(ids.at(-1)).toBe('last');
    expect(ids).not.toContain('s77');
  });

  test('what is outdated is written out of it before it outgrows what lives', async () => {
    const store = openStore();
    await store.add(made('stays'));
    let longest = 0;
    for (let i = 0; i < 1200; i++) {
      store.extend('stays', 1_000_000 + i);
      await store.add(made(`s${i}`));
      await store.remove(`s${i}`);
      longest = Math.max(longest, lineCount());
    }
    expect(longest).toBeGreaterThan(400);
    expect(longest).toBeLessThan(1_010);
    await store.close();
    expect(registeredIn(path)).toEqual([expect.objectContaining({ id: 'stays' })]);
    expect(await idsAfterRestart()).toEqual(['stays']);
  });

  test('who takes a claim that another has given up is there after a restart, in whatever order it was written', async () => {
    const store = openStore();
    await Promise.all([store.add(made('one', 'ip 1')), store.add(made('two', 'ip 2'))]);
    await Promise.all([
      store.remove('one'),
      store.remove('two'),
      store.add(made('two', 'ip 1')),
      store.add(made('one', 'ip 2')),
    ]);
    expect((await loaded()).map(({ id, claims }) => [id, claims[1]])).toEqual([
      ['two', 'ip 1'],
      ['one', 'ip 2'],
    ]);
  });

  test('a claim of one that has expired is free, also when the clock is set back afterwards', async () => {
    const store = openStore();
    await store.add(made('old', 'ip 1', 100));
    nowMs = 200;
    await store.add(made('new', 'ip 1'));
    nowMs = 50;
    expect(await idsAfterRestart()).toEqual(['new']);
    nowMs = 0;
    const other = openStore();
    await other.load();
    await other.add(made('short', 'ip 2', 100));
    nowMs = 200;
    const restarted = openStore();
    await restarted.load();
    await restarted.add(made('next', 'ip 2'));
    nowMs = 50;
    expect(await idsAfterRestart()).toEqual(['new', 'next']);
  });
});

describe('a crash at any moment', () => {
  test('leaves a change or does not, wherever its line is cut, and the next change is whole', async () => {
    await shortHistory();
    const whole = text();
    const first = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1;
    const expected = (length: number): string[] => {
      const lines = whole.slice(0, length).split('\n').length - 1;
      return [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'c'], ['a', 'c']][lines - 2]!;
    };
    for (let length = first; length <= whole.length; length++) {
      writeFileSync(path, whole.slice(0, length), { mode: 0o600 });
      const store = openStore();
      const ids = (await store.load()).map(({ id }) => id);
      expect(ids, `cut at ${length}`).toEqual(expected(length));
      if (length % 40 === 0) {
        await store.add(made('next'));
        expect(await idsAfterRestart()).toEqual([...ids, 'next']);
      }
    }
    expect((await loaded())[0]!.expiresAtMs).toBe(2_000_000);
  });

  test('a page of the last line that never reached the disk makes it one that nobody was told of', async () => {
    await shortHistory();
    const before = text();
    writeFileSync(path, `${before}[{"put":{"id":"d"${'\0'.repeat(40)}}]\n`);
    expect(await idsAfterRestart()).toEqual(['a', 'c']);
  });

  test('while all of it is written anew leaves the old or the new, and nothing beside it', async () => {
    await shortHistory();
    const old = text();
    const anew = `{"version":2,"sandboxes":1}\n${JSON.stringify([{ put: JSON.parse(made('z').body), expires_at: new Date(1_000_000) }])}\n`;
    const beside = join(directory, '.registry.json.0123456789ab.tmp');
    for (let length = 0; length <= anew.length; length += 7) {
      writeFileSync(beside, anew.slice(0, length));
      expect(await idsAfterRestart()).toEqual(['a', 'c']);
      expect(text()).toBe(old);
      expect(readdirSync(directory)).toEqual(['registry.json']);
    }
    writeFileSync(beside, anew, { mode: 0o600 });
    renameSync(beside, path);
    expect(await idsAfterRestart()).toEqual(['z']);
  });
});

describe('damage is refused, and left as it is', () => {
  const damaged: readonly [what: string, damage: (whole: string) => string, says: string][] = [
    ['a line in the middle that is no JSON', (t) => t.replace('{"gone":"b"}', '{"gone":"b'), 'line 5 is not JSON'],
    ['zeros in the middle', (t) => t.replace('"gone"', '\0\0\0\0\0\0'), 'line 5 is not JSON'],
    ['a whole last line that is no JSON', (t) => `${t.slice(0, -2)}\n`, 'line 6 is not JSON'],
    ['a line that is no list', (t) => `${t}{}\n`, 'line 7 is not a list'],
    ['a change that nobody knows', (t) => `${t}[{"gone":"a","admin":true}]\n`, 'a change that is not known'],
    ['a change that is nothing', (t) => `${t}[null]\n`, 'a change that is not known'],
    ['an address twice', (t) => t.replace('"ip":"ip c"', '"ip":"ip a"'), 'ip a is registered twice'],
    ['the end of one that was never there', (t) => t.replace('"id":"a","exp', '"id":"x","exp'), 'moves the end of x'],
    [
      'an end that is no time',
      (t) => t.replace('"id":"a","expires_at":"1', '"id":"a","expires_at":"x'),
      'moves the end of a',
    ],
    ['a record without an id', (t) => t.replace('{"put":{"id":"c",', '{"put":{'), 'line 4: id: not a text'],
    [
      'less than was written in one step',
      (t) => t.slice(0, t.indexOf('\n') + 30),
      '1 sandboxes were written to it, and 0',
    ],
    ['a version that is not ours', (t) => t.replace('"version":2', '"version":3'), 'cannot be used'],
  ];

  test.each(damaged)('%s', async (_what, damage, says) => {
    await shortHistory();
    const broken = damage(text());
    expect(broken).not.toBe(text());
    writeFileSync(path, broken);
    await expect(loaded()).rejects.toMatchObject({
      code: 'registry.unreadable',
      message: expect.stringContaining(says),
    });
    expect(text()).toBe(broken);
  });

  test('and the history those are made of is whole', async () => {
    await shortHistory();
    expect(await idsAfterRestart()).toEqual(['a', 'c']);
  });
});

describe('a file that is not as it was left is written anew', () => {
  test('the form of earlier versions is read, and the first change writes the new one', async () => {
    const sandboxes = ['a', 'b'].map((id) => JSON.parse(made(id).body) as unknown);
    writeFileSync(path, `${JSON.stringify({ version: 1, sandboxes }, null, 1)}\n`, { mode: 0o600 });
    const old = text();
    const store = openStore();
    expect((await store.load()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(text()).toBe(old);
    await store.remove('a');
    expect(text()).toMatch(/^\{"version":2,"sandboxes":1\}\n/);
    expect(await idsAfterRestart()).toEqual(['b']);
  });

  test.each([
    ['longer', () => appendFileSync(path, 'somebody was here')],
    ['gone', () => rmSync(path)],
    ['another', () => writeFileSync(`${path}.new`, text(), { mode: 0o600 })],
  ])('%s', async (what, change) => {
    const store = openStore();
    await store.add(made('a'));
    change();
    if (what === 'another') renameSync(`${path}.new`, path);
    await store.add(made('b'));
    expect(await idsAfterRestart()).toEqual(['a', 'b']);
    expect(lineCount()).toBe(3);
  });
});

test('whatever comes, goes, fails and crashes: after a restart there is what was acknowledged', async () => {
  const { random, seed } = seededRandom();
  const away = `${directory}.away`;
  let store = openStore();
  const acknowledged = new Map<string, string>();
  for (let step = 0; step < 400; step++) {
    const id = `s${Math.floor(random() * 12)}`;
    const ip = `ip ${Math.floor(random() * 12)}`;
    const fails = random() < 0.1;
    if (fails) renameSync(directory, away);
    const isFree = !acknowledged.has(id) && ![...acknowledged.values()].includes(ip);
    const act = random() < 0.6 ? store.add(made(id, ip)) : store.remove(id).then(() => 'removed');
    const outcome = await act.catch((error: { code: string }) => error.code);
    if (fails) renameSync(away, directory);
    if (outcome === null) acknowledged.set(id, ip);
    if (outcome === null) expect(isFree && !fails, `seed ${seed}`).toBe(true);
    // What could not be written down as gone is gone here, and is written by the next that can.
    if (outcome === 'removed') acknowledged.delete(id);
    if (outcome === 'registry.unwritable' && acknowledged.delete(id))
      await store.add(made('flush')).then(() => store.remove('flush'));
    if (random() < 0.2 && existsSync(path)) {
      store = openStore();
      const there = (await store.load()).map((one) => [one.id, one.claims[1]]);
      expect(new Map(there as [string, string][]), `seed ${seed}, step ${step}`).toEqual(acknowledged);
    }
  }
});
