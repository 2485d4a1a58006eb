// Memory that is taken before anything is whole, and that a client or a server who takes his time holds for as long as he
// likes, in as many pushes as there are places: commands without an end, half an object, objects of many answers.
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { oidOf } from '../../../src/protocols/git/objects/object-id.ts';
import { PackScan } from '../../../src/protocols/git/objects/pack-scan.ts';
import { PackStore } from '../../../src/protocols/git/objects/pack-store.ts';
import { OverBudget, WorkBudget } from '../../../src/protocols/git/objects/work-budget.ts';
import { encodePkt } from '../../../src/protocols/git/pkt-line.ts';
import type { GitServer } from '../../../src/stages/authorize/git/git-server.ts';
import { PushRoom } from '../../../src/stages/authorize/git/push-room.ts';
import { findNewCommits } from '../../../src/stages/authorize/git/pushed-history.ts';
import { packAnswer, stage } from '../../unit/gateway/questions/scripted-git-server.ts';
import { withBody } from '../../unit/path/exchange/scripted-exchange.ts';
import { commitText, objectsOf, packOf } from '../../unit/protocols/git/objects/pack-builder.ts';
import { ground, pushing, refusedWith } from '../../unit/stages/authorize/git/git-judged-push.ts';
import { command, zeroId } from '../../unit/stages/authorize/git/git-push-ground.ts';

const mib = 1024 ** 2;

describe('it is counted from its first byte on', () => {
  test('the commands of a push', async () => {
    const { server, good } = ground();
    const line = (n: number) => encodePkt(`${zeroId} ${'1'.repeat(40)} refs/heads/${'x'.repeat(200)}${n}\n`);
    const endless = Buffer.concat(Array.from({ length: 5_000 }, (_, n) => line(n)));
    const pushRoom = new PushRoom({ maxHeldBytes: mib });
    const refusal = await refusedWith(pushing(withBody([endless]), server, { pushRoom }).result);
    expect(refusal).toMatchObject({ code: 'limit.push-work', rule: 'built-in: what judging a push may cost' });
    const roomy = new PushRoom();
    const push = pushing(withBody([good]), server, { pushRoom: roomy });
    await push.result;
    expect(roomy.heldBytes).toBeGreaterThan(0);
    push.flow.trail.end();
    expect(roomy.heldBytes).toBe(0);
  });

  test('an object that is half there', async () => {
    const pack = packOf([{ code: 2, content: randomBytes(4 * mib) }]);
    const budget = new WorkBudget();
    const scan = new PackScan({}, budget);
    await scan.feed(pack.subarray(0, 2 * mib));
    expect(budget.heldBytes).toBeGreaterThan(4 * mib);
    await scan.feed(pack.subarray(2 * mib));
    await scan.end();
    expect(budget.heldBytes).toBeLessThan(5 * mib);
    const little = new PackScan({}, new WorkBudget({ maxHeldBytes: mib }));
    await expect(little.feed(pack.subarray(0, 1_000))).rejects.toThrow(OverBudget);
  });

  test('the pack of an answer while it is kept in memory', async () => {
    const budget = new WorkBudget();
    const file = { write: async () => {}, readAt: async () => Buffer.alloc(0), close: async () => {} };
    const store = new PackStore(2 * mib, async () => file, budget);
    await store.write(Buffer.alloc(mib));
    expect(budget.heldBytes).toBe(mib);
    await store.write(Buffer.alloc(2 * mib));
    expect(budget.heldBytes).toBe(0);
  });

  test('the objects of many answers together', async () => {
    const trees = Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(100_000, `100644 ${n}\0`));
    const byId = new Map(trees.map((content) => [oidOf('tree', content), content]));
    const answer = (asked: string[]) =>
      packAnswer(
        ...asked
          .filter((line) => line.startsWith('want '))
          .map((line) => ({ code: 2, content: byId.get(line.slice(5))! })),
      );
    const ask = (budget: WorkBudget) =>
      stage({ answer, spoolBytes: 100 * mib })
        .open('sbx_test', new AbortController().signal, budget)
        .objects([...byId.keys()]);
    // Each answer fits in this, with the room to read it; all of them do not.
    await expect(ask(new WorkBudget({ maxHeldBytes: 80 * mib }))).rejects.toThrow(OverBudget);
    const budget = new WorkBudget();
    expect([(await ask(budget)).size, budget.heldBytes]).toEqual([1_000, 0]);
  });

  test('the parents of commits that only the server has', async () => {
    const ids = (n: number) => Array.from({ length: 1_000 }, (_, k) => (n * 1_000 + k).toString(16).padStart(40, 'a'));
    const stray = new Map(
      Array.from({ length: 100 }, (_, n) => [ids(n)[0]!, { tree: '1'.repeat(40), parents: ids(n + 1) }]),
    );
    const server = { commits: async () => stray, refs: async () => [] } as unknown as GitServer;
    const root = commitText('1'.repeat(40), ['2'.repeat(40)]);
    const objects = await objectsOf(packOf([{ code: 1, content: root }]));
    const commands = [command('refs/heads/new', oidOf('commit', root))];
    const find = (maxHeldBytes: number) =>
      findNewCommits(commands, objects, [], server, new WorkBudget({ maxHeldBytes }));
    await expect(find(mib)).rejects.toThrow(OverBudget);
    expect((await find(4 * mib)).commits.size).toBe(101);
  });
});
