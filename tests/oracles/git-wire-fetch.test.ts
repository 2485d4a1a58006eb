// Our questions to an upstream against a real upload-pack, and its packs against git's own index-pack. Then the same
// through the whole way out, on histories made by chance: what we are told equals rev-list and cat-file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type FetchQuestion,
  parseLsRefs,
  renderFetchRequest,
  renderLsRefsRequest,
} from '../../src/protocols/git/fetch-v2.ts';
import { FetchAnswerReader } from '../../src/protocols/git/fetch-v2-answer.ts';
import { GitRemoteError } from '../../src/protocols/git/git-remote-error.ts';
import { oidOf } from '../../src/protocols/git/objects/object-id.ts';
import { type AskingGateway, gitHost, gitLogin, startAskingGateway } from '../support/asked-git-server.ts';
import type { GitFolder } from '../support/git-folder.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { Chance, seedOf } from './git-pack-ground.ts';
import { GitGround } from './git-wire-ground.ts';

const ground = new GitGround();
const commits: string[] = [];
let packs = 0;

beforeAll(async () => {
  await ground.prepare();
  for (let i = 0; i < 6; i++) commits.push(await ground.commit(`${i % 2}.txt`, `content ${i}\n`));
  await ground.git(['tag', '-a', 'v1', '-m', 'v1']);
  await ground.git(['push', '-q', ground.bare, 'main', 'v1']);
});

afterAll(() => ground.remove());

async function ask(question: FetchQuestion): Promise<Buffer> {
  const { stdout } = await ground.uploadPackV2(renderFetchRequest(question));
  const reader = new FetchAnswerReader();
  const pack: Buffer[] = [];
  for (let at = 0; at < stdout.length; at += 11) pack.push(...reader.feed(stdout.subarray(at, at + 11)).pack);
  reader.end();
  return Buffer.concat(pack);
}

/** `type id` of every object in a pack, as git reads it. */
async function objectsIn(pack: Buffer): Promise<string[]> {
  const file = join(ground.folder, `answer-${++packs}`);
  writeFileSync(`${file}.pack`, pack);
  await ground.git(['index-pack', `${file}.pack`], { cwd: ground.folder });
  const { stdout } = await ground.git(['verify-pack', '-v', `${file}.idx`], { cwd: ground.folder });
  return stdout
    .toString()
    .split('\n')
    .flatMap((line) => /^([0-9a-f]{40}) (\w+)/.exec(line)?.slice(1, 3).reverse().join(' ') ?? [])
    .sort();
}

describe('a real upload-pack answers our questions', () => {
  test('the commits between two points, and nothing else', async () => {
    const pack = await ask({ wants: [commits[5]!], haves: [commits[2]!], filter: 'tree:0' });
    expect(await objectsIn(pack)).toEqual(
      commits
        .slice(3)
        .map((id) => `commit ${id}`)
        .sort(),
    );
  });

  test('nothing at all when the one point is behind the other', async () => {
    const pack = await ask({ wants: [commits[1]!], haves: [commits[4]!], filter: 'tree:0' });
    expect(await objectsIn(pack)).toEqual([]);
  });

  test('one tree by its id, without its blobs', async () => {
    const tree = await ground.line('rev-parse', `${commits[3]}^{tree}`);
    expect(await objectsIn(await ask({ wants: [tree], filter: 'blob:none' }))).toEqual([`tree ${tree}`]);
  });

  test('everything that leads to a commit', async () => {
    const listed = await ground.line('rev-list', '--objects', '--no-object-names', commits[5]!);
    const objects = await objectsIn(await ask({ wants: [commits[5]!] }));
    expect(objects.map((line) => line.split(' ')[1]).sort()).toEqual(listed.split('\n').sort());
  });

  test('an object that it does not have is its no, in its words', async () => {
    await expect(ask({ wants: ['1'.repeat(40)] })).rejects.toThrow(GitRemoteError);
    await expect(ask({ wants: ['1'.repeat(40)] })).rejects.toThrow(/not our ref 1111/);
  });

  test('its refs, by prefix, with what tags lead to', async () => {
    const { stdout } = await ground.uploadPackV2(renderLsRefsRequest(['refs/heads/', 'refs/tags/']));
    expect(parseLsRefs(stdout)).toEqual([
      { name: 'refs/heads/main', id: commits[5], peeled: null, symrefTarget: null },
      { name: 'refs/tags/v1', id: await ground.line('rev-parse', 'v1'), peeled: commits[5], symrefTarget: null },
    ]);
    const all = parseLsRefs((await ground.uploadPackV2(renderLsRefsRequest([]))).stdout);
    expect(all[0]).toEqual({ name: 'HEAD', id: commits[5], peeled: null, symrefTarget: 'refs/heads/main' });
  });
});

describe('what the gateway is told of a history made by chance is what git says of it', () => {
  const ca = makeTestCa();
  const chance = new Chance(seedOf('git-wire-fetch'));
  let upstream: GitUpstream;
  let gateway: AskingGateway;
  let repository: GitFolder;
  let ids: string[];
  let objects: string[];

  beforeAll(async () => {
    upstream = await startGitUpstream(ca, { [gitHost]: `${gitLogin.user}:${gitLogin.token}` });
    gateway = startAskingGateway(ca, upstream.address);
    repository = await upstream.create('acme/chance');
    await repository.run(['fast-import', '--quiet'], drawHistory(chance, 400));
    await repository.git('tag', '-a', 'v1', '-m', 'v1', 'h399');
    await repository.git('repack', '-adfq', '--depth=20', '--window=20');
    ids = (await repository.git('rev-list', '--all')).split('\n');
    const all = await repository.git('rev-list', '--objects', '--no-object-names', '--all');
    objects = [...all.split('\n'), await repository.git('rev-parse', 'v1')];
  });

  afterAll(async () => {
    gateway.close();
    await upstream.close();
  });

  const some = (from: readonly string[], most: number): string[] =>
    Array.from({ length: 1 + chance.below(most) }, () => chance.one(from));

  test('commits from some and not from others: as rev-list', async () => {
    expect(ids).toHaveLength(400);
    for (let round = 0; round < 120; round++) {
      const wants = [...new Set(some(ids, 3))];
      const haves = chance.below(5) === 0 ? [] : [...new Set(some(ids, 3))];
      const told = await gateway.open('acme/chance').commits(wants, haves);
      const listed = await repository.git('rev-list', '--parents', ...wants, '--not', ...haves);
      const lines = [...told].map(([id, { parents }]) => [id, ...parents].join(' '));
      expect(lines.sort(), `${wants} --not ${haves}`).toEqual(listed === '' ? [] : listed.split('\n').sort());
    }
  });

  test('objects of all types, nested and not, in any order: as cat-file', async () => {
    for (let round = 0; round < 60; round++) {
      const wanted = [...new Set(some(objects, 300))];
      const told = await gateway.open('acme/chance').objects(wanted);
      expect([...told.keys()].sort()).toEqual([...wanted].sort());
      const stated = await repository.run(['cat-file', '--batch-check'], `${wanted.join('\n')}\n`);
      const lines = wanted.map((id) => `${id} ${told.get(id)?.type} ${told.get(id)?.content.length}`);
      expect(stated.stdout.trim().split('\n')).toEqual(lines);
      for (const [id, { type, content }] of told) expect(oidOf(type, content)).toBe(id);
    }
  });
});

/** A stream for fast-import: commits with none to three parents, folders in folders, files that change a little. */
function drawHistory(chance: Chance, count: number): string {
  const stream: string[] = [];
  for (let mark = 1; mark <= count; mark++) {
    const message = `change ${mark}`;
    stream.push(`commit refs/heads/h${mark}`, `mark :${mark}`, `committer a <a@b> ${1_700_000_000 + mark} +0000`);
    stream.push(`data ${message.length}`, message);
    const parents = new Set<number>();
    const wanted = mark === 1 || chance.below(100) < 4 ? 0 : chance.below(100) < 30 ? 1 + chance.below(3) : 1;
    for (let i = 0; i < wanted; i++) parents.add(mark - 1 - chance.below(Math.min(mark - 1, 12)));
    let place = 0;
    for (const parent of parents) stream.push(`${place++ === 0 ? 'from' : 'merge'} :${parent}`);
    const text = `${'the same line\n'.repeat(40 + chance.below(20))}${mark}\n`;
    const folders = Array.from({ length: chance.below(4) }, () => `d${chance.below(3)}/`).join('');
    stream.push(`M 100644 inline ${folders}f${chance.below(4)}`, `data ${text.length}`, text);
  }
  return `${stream.join('\n')}\n`;
}
