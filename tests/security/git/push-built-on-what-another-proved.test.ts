// What a push has proved is remembered. Who gets at what another proved, at what was refused, or at an object under an id
// that is not its own, has a push judged by something that nobody looked at.
import { describe, expect, test } from 'vitest';
import type { Permission } from '../../../src/path/flow.ts';
import { WorkBudget } from '../../../src/protocols/git/objects/work-budget.ts';
import type { RemoteObject } from '../../../src/stages/authorize/git/git-server.ts';
import { PushMemory } from '../../../src/stages/authorize/git/push-memory.ts';
import { pushTo } from '../../support/asked-git-server.ts';
import { withBody } from '../../unit/path/exchange/scripted-exchange.ts';
import { packOf } from '../../unit/protocols/git/objects/pack-builder.ts';
import { ground, type PushingOptions, pushing, refusedWith } from '../../unit/stages/authorize/git/git-judged-push.ts';
import {
  command,
  commandLines,
  type History,
  MemoryServer,
  workflow,
} from '../../unit/stages/authorize/git/git-push-ground.ts';

const ref = 'refs/heads/sandbox/work';

/** A push of exactly this commit and what is in it, whatever it builds on. */
function sent(history: History, id: string, oldId: string): ReturnType<typeof withBody> {
  const own = [id, ...history.closure([history.commitAt(id).tree])];
  return withBody([Buffer.concat([commandLines([command(ref, id, oldId)]), packOf(history.partsOf(own))])]);
}

/** One push that passed, and one that builds on it and leaves it out. */
async function remembered(sandbox: PushingOptions['sandbox'] = {}) {
  const pushMemory = new PushMemory();
  const { history, server, main, next, good } = ground();
  await pushing(withBody([good]), server, { pushMemory, sandbox }).result;
  server.setRef(ref, next);
  server.asked.length = 0;
  const after = history.commit([next], { a: '3', [workflow]: 'old' });
  return { pushMemory, history, server, main, next, after };
}

describe('what was proved is for the registration and the repository that proved it', () => {
  test('the same sandbox has it', async () => {
    const { pushMemory, history, server, next, after } = await remembered();
    await pushing(sent(history, after, next), server, { pushMemory }).result;
    expect(server.asked).toEqual([`refs ${ref} refs/heads/main refs/heads/master`]);
  });

  test.each([
    ['another sandbox', { id: 'sbx_other' }],
    ['a sandbox that was given the id of one that is gone', { createdAt: '2031-01-01T00:00:00.000Z' }],
  ])('%s has the server asked, and a server that does not show it decides', async (_, sandbox) => {
    const { pushMemory, history, server, main, next, after } = await remembered();
    await pushing(sent(history, after, next), server, { pushMemory, sandbox }).result;
    expect(server.asked.filter((line) => line.startsWith('objects'))).toHaveLength(2);
    // The first sandbox may have read with another credential than this one has.
    const shown = new MemoryServer(history, { 'refs/heads/main': main });
    const claimed = pushing(sent(history, after, next), shown, {
      pushMemory,
      sandbox: { ...sandbox, id: 'sbx_third' },
    });
    expect((await refusedWith(claimed.result)).code).toBe('push.undecided');
  });

  test.each(['repository', 'credential'])('another %s begins with nothing', async (what) => {
    const { pushMemory, server, next } = await remembered();
    const { flow, permission } = pushTo('acme/widgets');
    const asking = (changed: Partial<Permission>) =>
      pushMemory.over(server, flow, { ...permission, ...changed }, new WorkBudget()).objects([next]);
    await asking({});
    expect(server.asked).toEqual([]);
    const gadgets = { git: { ...permission.git!, repository: 'acme/gadgets' } };
    await asking(what === 'repository' ? gadgets : { credential: 'another' });
    expect(server.asked).toEqual(['objects sandbox/work']);
  });
});

describe('only what passed was proved', () => {
  test('a commit of a push that was refused is no ground for the next', async () => {
    const pushMemory = new PushMemory();
    const { history, server, main } = ground();
    const evil = history.commit([main], { a: '2', [workflow]: 'evil' });
    const refused = await refusedWith(pushing(sent(history, evil, main), server, { pushMemory }).result);
    expect(refused.code).toBe('push.protected-path');
    const after = history.commit([evil], { a: '3', [workflow]: 'evil' });
    server.asked.length = 0;
    const built = await refusedWith(pushing(sent(history, after, main), server, { pushMemory }).result);
    expect(built.code).toBe('push.undecided');
    expect(server.asked.filter((line) => line.startsWith('objects'))).toHaveLength(1);
  });

  test('nor what the server said while it was judged', async () => {
    const pushMemory = new PushMemory();
    const { history, server, main, next } = ground();
    const evil = history.commit([main], { a: '2', [workflow]: 'evil' });
    await refusedWith(pushing(sent(history, evil, main), server, { pushMemory }).result);
    server.asked.length = 0;
    await pushing(sent(history, next, main), server, { pushMemory }).result;
    expect(server.asked.filter((line) => line.startsWith('objects'))).toHaveLength(2);
  });

  test('an object under an id that is not its own ends the push, and is not there for another', async () => {
    const pushMemory = new PushMemory();
    const { history, server, main, next } = ground();
    const innocent = history.objects.get(history.commitAt(main).tree)!;
    const { tree } = history.commitAt(history.commit([main], { a: '1', [workflow]: 'evil' }));
    const poisoned = new Poisoned(
      history,
      server,
      new Map([[history.commitAt(main).tree, history.objects.get(tree)!]]),
    );
    const first = await refusedWith(pushing(sent(history, next, main), poisoned, { pushMemory }).result);
    expect(first.code).toBe('git.malformed');
    poisoned.lies.clear();
    expect(innocent.type).toBe('tree');
    await pushing(sent(history, next, main), poisoned, { pushMemory }).result;
    expect(server.asked.filter((line) => line === 'objects tree')).toHaveLength(2);
  });
});

/** A server that answers some ids with another's content. */
class Poisoned extends MemoryServer {
  readonly lies: Map<string, RemoteObject>;
  readonly #true: MemoryServer;

  constructor(history: History, server: MemoryServer, lies: Map<string, RemoteObject>) {
    super(history);
    this.#true = server;
    this.lies = lies;
  }

  override refs(prefixes: readonly string[]) {
    return this.#true.refs(prefixes);
  }

  override async objects(ids: readonly string[]) {
    const found = await this.#true.objects(ids);
    return new Map([...found].map(([id, object]) => [id, this.lies.get(id) ?? object]));
  }
}
