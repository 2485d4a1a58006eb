import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GitWireError } from '../../src/protocols/git/git-wire-error.ts';
import { inflateSmall } from '../../src/protocols/git/objects/pack-inflate.ts';
import { BLOB, readObjectHeader } from '../../src/protocols/git/objects/pack-object-header.ts';
import type { PackObjects } from '../../src/protocols/git/objects/pack-objects.ts';
import { objectsOf, type Part, packOf, scan, sealed } from '../unit/protocols/git/objects/pack-builder.ts';
import { Chance, GitRepository, howMany, seedOf } from './git-pack-ground.ts';

const ROUNDS = howMany(800);
const seed = seedOf('git-pack-fuzz');
const chance = new Chance(seed);
const origin = new GitRepository();
const judge = new GitRepository();
afterAll(() => {
  origin.remove();
  judge.remove();
});

interface Source {
  readonly pack: Buffer;
  readonly parts: Part[];
}

const sources: Source[] = [];

beforeAll(async () => {
  const stream: string[] = [];
  const message = 'a message that most of these commits share, so that they become deltas of each other\n'.repeat(3);
  for (let n = 1; n <= 25; n++) {
    stream.push('commit refs/heads/main', `mark :${n}`, 'committer a <a@b> 1700000000 +0000');
    stream.push(`data ${message.length + 3}`, `${message}${n + 100}`);
    if (n > 1) stream.push(`from :${n - 1}`);
    const content = `${'a line of this file\n'.repeat(20)}${n}`;
    for (const path of [`a/file${n}`, `b/c/file${n % 4}`]) {
      stream.push(`M 100644 inline ${path}`, `data ${content.length}`, content);
    }
    stream.push('');
  }
  origin.git(['fast-import', '--quiet'], `${stream.join('\n')}\n`);
  const all = origin.lines(['rev-list', '--objects', '--no-object-names', 'main']);
  const types = origin.lines(['cat-file', '--batch-check=%(objecttype)'], `${all.join('\n')}\n`);
  const withoutBlobs = all.filter((_, n) => types[n] !== 'blob');
  for (const hasBlobs of [false, true]) {
    for (const options of [['--delta-base-offset'], []]) {
      const args = ['pack-objects', '--stdout', '-q', '--window=20', '--no-reuse-delta', ...options];
      const pack = origin.git(args, `${(hasBlobs ? all : withoutBlobs).join('\n')}\n`);
      sources.push({ pack, parts: await takeApart(pack) });
    }
  }
  const codes = sources.map(({ parts }) => new Set(parts.map(({ code }) => code)));
  expect(codes.map((set) => [set.has(6), set.has(7)])).toEqual([
    [true, false],
    [false, true],
    [true, false],
    [false, true],
  ]);
});

async function takeApart(pack: Buffer): Promise<Part[]> {
  const { entries } = await scan(pack);
  return Array.from({ length: entries.count }, (_, index) => {
    const header = readObjectHeader(pack, entries.offset(index));
    if (header === null) throw new Error('no header where the scan saw one');
    const content = inflateSmall(pack.subarray(header.end, entries.end(index)), header.size)?.content as Buffer;
    if (header.code === 6) return { code: 6, content, base: entries.base(index) };
    if (header.code === 7) return { code: 7, content, base: header.baseId as string };
    return { code: header.code, content };
  });
}

function mutateBytes(pack: Buffer): Buffer {
  let bytes = Buffer.from(pack.subarray(0, -20));
  for (let times = 1 + chance.below(3); times > 0; times--) {
    const at = chance.below(bytes.length);
    const length = chance.below(40);
    const way = chance.below(5);
    if (way < 2) bytes[at] = (bytes[at] as number) ^ (1 << chance.below(8));
    else if (way === 2) bytes = bytes.subarray(0, at);
    else if (way === 3) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    else bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
    if (bytes.length === 0) break;
  }
  return chance.below(4) === 0 ? Buffer.concat([bytes, pack.subarray(-20)]) : sealed(bytes);
}

function mutateParts(original: readonly Part[]): Buffer {
  const parts = [...original];
  let count = parts.length;
  for (let times = 1 + chance.below(2); times > 0; times--) {
    const at = chance.below(parts.length);
    const part = parts[at] as Part;
    const other = chance.one(parts);
    const content = Buffer.from(part.content);
    switch (chance.below(10)) {
      case 0:
      case 1:
        if (content.length > 0) content[chance.below(content.length)] = chance.below(256);
        parts[at] = { ...part, content };
        break;
      case 2:
        parts[at] = { ...part, content: content.subarray(0, chance.below(content.length + 1)) };
        break;
      case 3:
        parts[at] = { ...part, size: Math.max(0, content.length + chance.below(5) - 2) };
        break;
      case 4:
        parts.splice(chance.below(parts.length), 0, part);
        count++;
        break;
      case 5:
        parts[at] = { ...part, code: chance.below(8), base: part.base ?? '1'.repeat(40) };
        if (parts[at]?.code === 6) parts[at] = { code: 6, content, base: chance.below(at + 1) };
        break;
      case 6:
        if (part.code === 6) parts[at] = { ...part, distance: 1 + chance.below(2_000) };
        if (part.code === 7) parts[at] = { ...part, base: other.code === 7 ? (other.base as string) : '2'.repeat(40) };
        break;
      case 7:
        parts[at] = { ...part, packed: Buffer.concat([deflateSync(content), Buffer.alloc(chance.below(3))]) };
        break;
      case 8:
        count += chance.below(3) - 1;
        break;
      default:
        parts.splice(at, 1);
        count--;
        if (parts.length === 0) return packOf([]);
    }
  }
  return packOf(
    parts.map((part) => (part.code === 7 && typeof part.base !== 'string' ? { ...part, base: '3'.repeat(40) } : part)),
    { count: Math.max(0, count) },
  );
}

/** Without blobs all that is in a pack matters to a verdict, so git must agree with all of it. */
async function holdsBlobs(pack: Buffer): Promise<boolean> {
  const { entries } = await scan(pack);
  return Array.from({ length: entries.count }, (_, index) => entries.code(index)).includes(BLOB);
}

/** The commits, trees and tags that git finds in a pack it has just indexed. */
function gitFinds(pack: Buffer): string[] {
  const place = join(judge.directory, 'objects', 'pack');
  const index = readFileSync(join(place, `pack-${pack.subarray(-20).toString('hex')}.idx`));
  const ids = judge.lines(['show-index'], index).map((line) => line.split(' ')[1]);
  const typed = judge.lines(['cat-file', '--batch-check=%(objecttype) %(objectname)'], `${ids.join('\n')}\n`);
  rmSync(place, { recursive: true });
  mkdirSync(place);
  return typed.filter((line) => !line.startsWith('blob ')).map((line) => line.slice(line.indexOf(' ') + 1));
}

describe('a pack that was tampered with', () => {
  test(`never breaks the reader, and is taken for no other pack than git takes it for (${ROUNDS} packs)`, async () => {
    const outcome = { refused: 0, incomplete: 0, taken: 0, harmless: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const source = chance.one(sources);
      const pack = chance.below(2) === 0 ? mutateBytes(source.pack) : mutateParts(source.parts);
      const hint = `SEED=${seed} round ${round}`;
      let objects: PackObjects;
      try {
        objects = await objectsOf(pack);
      } catch (error) {
        expect(error, `${hint}: ${error instanceof Error ? error.stack : error}`).toBeInstanceOf(GitWireError);
        outcome.refused++;
        continue;
      }
      if (objects.missingBases.length > 0) {
        expect(await judge.indexes(pack), `${hint}: git misses no base`).toBe(false);
        outcome.incomplete++;
        continue;
      }
      if (!(await judge.indexes(pack))) {
        // Only changes to blobs go unread by us; git refuses such a pack, and no verdict hung on them.
        expect(await holdsBlobs(pack), `${hint}: git index-pack refuses what we took`).toBe(true);
        outcome.harmless++;
        continue;
      }
      outcome.taken++;
      const found = pack.readUInt32BE(8) === 0 ? [] : gitFinds(pack);
      expect(
        found.filter((oid) => objects.get(oid) === null),
        hint,
      ).toEqual([]);
      const known = new Set(found);
      expect(
        [...objects.commits.keys()].filter((oid) => !known.has(oid)),
        hint,
      ).toEqual([]);
    }
    console.info(`git-pack-fuzz: ${JSON.stringify(outcome)}`);
    expect(outcome.refused).toBeGreaterThan(ROUNDS / 4);
    expect(outcome.taken).toBeGreaterThan(ROUNDS / 50);
  }, 120_000);

  test('random bytes behind a good beginning are refused', async () => {
    for (let round = 0; round < 500; round++) {
      const noise = Buffer.from(Array.from({ length: chance.below(300) }, () => chance.below(256)));
      const start = packOf([], { count: 1 + chance.below(3) }).subarray(0, 12);
      const pack = sealed(Buffer.concat([start, noise]));
      await expect(objectsOf(pack), `SEED=${seed} ${round}`).rejects.toBeInstanceOf(GitWireError);
    }
  });
});
