// Our questions to an upstream against a real upload-pack, and its packs against git's own index-pack.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type FetchQuestion,
  parseLsRefs,
  renderFetchRequest,
  renderLsRefsRequest,
} from '../../src/git-wire/fetch-v2.ts';
import { FetchAnswerReader } from '../../src/git-wire/fetch-v2-answer.ts';
import { GitRemoteError } from '../../src/git-wire/git-remote-error.ts';
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
