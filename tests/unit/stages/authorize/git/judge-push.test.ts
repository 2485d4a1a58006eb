import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fieldsToSend } from '../../../../../src/path/enrich.ts';
import { wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { GitServer } from '../../../../../src/stages/authorize/git/git-server.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';
import { RecordingWriter, withBody } from '../../../path/exchange/scripted-exchange.ts';
import { literalDelta, packOf } from '../../../protocols/git/objects/pack-builder.ts';
import {
  expectRoomBack,
  ground,
  permission,
  pushing,
  refusedWith,
  sentBy,
  strict,
  turns,
  wordsOf,
} from './git-judged-push.ts';
import { command, commandLines, workflow, zeroId } from './git-push-ground.ts';

const byCommands = handMadePolicy({ allowForcePush: true });

describe('a push that breaks no rule is sent on exactly as it was judged', () => {
  test('from the disk, with its length, without the proof of the sandbox; and its room is given back', async () => {
    const { server, good } = ground();
    const { flow, spool, result } = pushing(withBody([good.subarray(0, 90), good.subarray(90)]), server);
    const judged = await result;
    expect(judged.permission).toBe(permission);
    expect(wrappedExchange(judged).requestFraming).toEqual({ kind: 'length', bytes: good.length });
    expect(fieldsToSend(judged).names).toEqual(['Content-Type', 'Content-Length']);
    expect(fieldsToSend(judged).get('content-length')).toBe(String(good.length));
    const to = await sentBy(judged);
    expect([Buffer.concat(to.chunks).equals(good), to.ended, to.failure]).toEqual([true, null, null]);
    expect(flow.asked).toMatch(/^receive-pack acme\/widgets refs\/heads\/sandbox\/work [0-9a-f]{12}\.\.[0-9a-f]{12}$/);
    await expectRoomBack(flow, spool);
  });

  test('a compressed one goes on in the clear', async () => {
    const { server, good } = ground();
    const fields: [string, string][] = [
      ['Content-Encoding', 'gzip'],
      ['Content-Length', '99'],
      ['Expect', '100-continue'],
    ];
    const { result } = pushing(withBody([gzipSync(good)]), server, { fields });
    const judged = await result;
    expect(fieldsToSend(judged).names).toEqual(['Content-Type', 'Content-Length']);
    expect(Buffer.concat((await sentBy(judged)).chunks)).toEqual(good);
    judged.trail.end();
  });

  test('the probe before a large push asks nothing, and a deletion that is allowed only under which name it is known', async () => {
    const { server, main } = ground();
    const policy = { ...strict, allowBranchDeletion: true };
    const deletion = commandLines([command('refs/heads/sandbox/work', zeroId, main)]);
    for (const body of [Buffer.from('0000'), deletion]) {
      const { result } = pushing(withBody([body]), server, { policy });
      expect(Buffer.concat((await sentBy(await result)).chunks)).toEqual(body);
    }
    expect(server.asked).toEqual(['refs refs/heads/sandbox/work refs/heads/main refs/heads/master']);
  });

  test('a simple push asks for refs, its parent and one directory, and nothing about ancestry', async () => {
    const { server, good } = ground();
    await pushing(withBody([good]), server).result;
    expect(server.asked.sort()).toEqual([
      'objects main',
      'objects tree',
      'refs refs/heads/sandbox/work refs/heads/main refs/heads/master',
    ]);
  });

  test('very many refs are asked for together', async () => {
    const { history, server, main } = ground();
    const commands = Array.from({ length: 101 }, (_, n) =>
      command(`refs/heads/sandbox/b${n}`, history.commit([main], { a: `${n}`, [workflow]: 'old' })),
    );
    const body = Buffer.concat([
      commandLines(commands),
      history.pack(
        commands.map(({ newId }) => newId),
        server,
      ),
    ]);
    await pushing(withBody([body]), server).result;
    expect(server.asked).toContain('refs refs/heads/ refs/tags/ refs/heads/main refs/heads/master');
  });
});

describe('a push that is decided by its commands alone is not kept waiting', () => {
  test('it goes on while it is still coming, and the server is asked for no more than names', async () => {
    const { server, good } = ground();
    const exchange = withBody([good.subarray(0, good.length - 40)], 'goes on');
    const { opened, spool, result } = pushing(exchange, server, { policy: byCommands });
    const judged = await result;
    expect(wrappedExchange(judged).requestFraming).toEqual({ kind: 'chunked' });
    expect(fieldsToSend(judged).names).toEqual(['Content-Type']);
    const to = new RecordingWriter();
    wrappedExchange(judged).sendBody(to);
    await turns();
    expect([Buffer.concat(to.chunks).length, to.ended]).toEqual([good.length - 40, undefined]);
    exchange.to?.write(good.subarray(good.length - 40));
    exchange.to?.end(null);
    await turns();
    expect([Buffer.concat(to.chunks).equals(good), to.ended]).toEqual([true, null]);
    expect([opened.length, spool.bytes, server.asked]).toEqual([
      1,
      0,
      ['refs refs/heads/sandbox/work refs/heads/main refs/heads/master'],
    ]);
  });

  test("where every branch is the sandbox's to move, not even names are asked for; a bot has branches of its own", async () => {
    const policy = { ...byCommands, protectedBranches: [] };
    for (const [authMode, questions] of [
      ['user', 0],
      ['bot', 1],
    ] as const) {
      const { server, good } = ground();
      await pushing(withBody([good]), server, { policy, sandbox: { authMode } }).result;
      expect(server.asked).toHaveLength(questions);
    }
  });

  test('the limit holds for it too: the upstream must not see a whole push', async () => {
    const { server, good } = ground();
    const policy = { ...byCommands, limits: { ...byCommands.limits, pushBytes: good.length - 1 } };
    const half = [good.subarray(0, 200), good.subarray(200)];
    const to = await sentBy(await pushing(withBody(half), server, { policy }).result);
    expect(to.ended).toBeUndefined();
    expect(to.failure).toMatchObject({ code: 'limit.push-size', rule: 'limits.push_bytes' });
  });

  test('with a rule against its commands it is taken in whole, and refused', async () => {
    const { bodyOf, main, next, server } = ground();
    const body = bodyOf([command('refs/heads/main', next, main)]);
    const { result } = pushing(withBody([body]), server, { policy: byCommands });
    expect((await refusedWith(result)).code).toBe('push.protected-branch');
  });
});

describe('a push that breaks a rule is refused with every finding at once', () => {
  test('of its commands and its options, without a look into its pack or a question to the server', async () => {
    const { history, server, base, main } = ground();
    const bad = history.commit([base], { a: '1', [workflow]: 'new' });
    const commands = [command('refs/heads/sandbox/work', bad, main), command('refs/heads/main', bad, main)];
    const section = commandLines(commands, 'report-status side-band-64k push-options');
    const option = Buffer.from('0017ci.variable=SECRET=10000'.slice(0, 23));
    const body = Buffer.concat([section, option, Buffer.from('0000'), Buffer.from('what is no pack at all')]);
    const { opened, spool, result } = pushing(withBody([body]), server);
    const refusal = await refusedWith(result);
    expect([refusal.code, refusal.message]).toEqual([
      'push.protected-branch',
      'main is a protected branch (and 1 more)',
    ]);
    const words = wordsOf(refusal);
    expect(words).toContain('Nothing of it was sent to git.example.com.');
    expect(words).toContain('- main is a protected branch (rule: policy.protected_branches[0])');
    expect(words).toContain('- the push option ci.variable is an order');
    expect(words).toContain('ng refs/heads/sandbox/work');
    expect([opened.length, server.asked, spool.bytes]).toEqual([0, [], 0]);
  });

  test('of its history and its paths; nothing goes on', async () => {
    const { history, server, base, main } = ground();
    const bad = history.commit([base], { a: '1', [workflow]: 'new' });
    const commands = [command('refs/heads/sandbox/work', bad, main)];
    const body = Buffer.concat([commandLines(commands), history.pack([bad], server)]);
    const { flow, spool, pushRoom, result } = pushing(withBody([body]), server);
    const refusal = await refusedWith(result);
    expect(refusal.code).toBe('push.force');
    const words = wordsOf(refusal);
    expect(words).toContain('- this push would rewrite sandbox/work:');
    expect(words).toContain(`- commit ${bad.slice(0, 12)} changes ${workflow}, which is protected`);
    expect(words).toContain('ng refs/heads/sandbox/work');
    await expectRoomBack(flow, spool);
    expect(pushRoom.heldBytes).toBe(0);
  });

  test('a branch that would be no commit', async () => {
    const { history, server, next } = ground();
    const tag = history.tag(next);
    const body = Buffer.concat([
      commandLines([command('refs/heads/sandbox/new', tag)]),
      packOf(history.partsOf([...history.closure([tag])].filter((id) => !server.holds(id)))),
    ]);
    const refusal = await refusedWith(pushing(withBody([body]), server).result);
    expect([refusal.code, refusal.rule]).toEqual(['push.namespace', 'built-in: a branch is a commit']);
  });

  test('a client that asked for no report gets a status', async () => {
    const { history, server, next, main } = ground();
    const commands = [command('refs/heads/main', next, main)];
    const body = Buffer.concat([commandLines(commands, 'side-band-64k'), history.pack([next], server)]);
    const refusal = await refusedWith(pushing(withBody([body]), server).result);
    expect([refusal.inProtocol, refusal.status, refusal.code]).toEqual([null, 403, 'push.protected-branch']);
  });
});

describe('a thin pack leaves out what the server has', () => {
  function thin(files: Record<string, string>) {
    const at = ground();
    const { history, main, server } = at;
    const tip = history.commit([main], files);
    const mainCommit = history.objects.get(main)!.content;
    const parts = history.partsOf([...history.closure([tip])].filter((id) => id !== tip && !server.holds(id)));
    const delta = literalDelta(mainCommit.length, history.objects.get(tip)!.content);
    const pack = packOf([...parts, { code: 7, base: main, content: delta }]);
    const body = Buffer.concat([commandLines([command('refs/heads/sandbox/work', tip, main)]), pack]);
    return { ...at, tip, body };
  }

  test('the bases are asked for, and the commit that was a delta is judged', async () => {
    const good = thin({ a: '2', [workflow]: 'old' });
    expect((await pushing(withBody([good.body]), good.server).result).permission).toBe(permission);
    expect(good.server.asked[0]).toBe('objects main');
    const bad = thin({ a: '2', [workflow]: 'new' });
    const refusal = await refusedWith(pushing(withBody([bad.body]), bad.server).result);
    expect(refusal.message).toContain(`commit ${bad.tip.slice(0, 12)} changes ${workflow}`);
  });

  test('a base that the server does not have leaves the push undecided', async () => {
    const { history, main, server } = ground();
    const delta = literalDelta(5, Buffer.from('hello'));
    const next = history.commit([main], { a: '2', [workflow]: 'old' });
    const parts = history.partsOf([...history.closure([next])].filter((id) => !server.holds(id)));
    const pack = packOf([...parts, { code: 7, base: 'c'.repeat(40), content: delta }]);
    const body = Buffer.concat([commandLines([command('refs/heads/sandbox/work', next, main)]), pack]);
    const refusal = await refusedWith(pushing(withBody([body]), server).result);
    expect(refusal.code).toBe('push.undecided');
    expect(wordsOf(refusal)).toContain('would not answer');
  });

  test('a server that says it supplied them and did not is a fault, not a verdict', async () => {
    const { body, server } = thin({ a: '2', [workflow]: 'old' });
    const empty: GitServer = {
      refs: (prefixes) => server.refs(prefixes),
      commits: (wants, haves) => server.commits(wants, haves),
      known: (tip, ids) => server.known(tip, ids),
      objects: async () => new Map(),
    };
    await expect(pushing(withBody([body]), empty).result).rejects.toThrow('still missing');
  });
});
