import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { GitServer } from '../../../src/authorize/git/git-server.ts';
import { judgePush } from '../../../src/authorize/git/judge-push.ts';
import { ClientGone } from '../../../src/flow/client-gone.ts';
import type { Authorized, Identified } from '../../../src/flow/flow.ts';
import { HeaderList } from '../../../src/flow/header-list.ts';
import { Refusal } from '../../../src/flow/refusal.ts';
import type { PushCommand } from '../../../src/git-wire/push-command.ts';
import { Spool } from '../../../src/kit/spool.ts';
import { pushTo } from '../../support/asked-git-server.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import { RecordingWriter, type ScriptedExchange, withBody } from '../flow/scripted-exchange.ts';
import { literalDelta, packOf } from '../git-wire/pack-builder.ts';
import { command, commandLines, History, MemoryServer, workflow, zeroId } from './git-push-ground.ts';

const directory = mkdtempSync(join(tmpdir(), 'judge-push-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const strict = handMadePolicy({ protectedPaths: ['.github/workflows/**'] });
const byCommands = handMadePolicy({ allowForcePush: true });
const { permission } = pushTo('acme/widgets');

const flows: Identified[] = [];
afterEach(async () => {
  for (const { trail } of flows.splice(0)) trail.end();
  await turns();
});

function ground() {
  const history = new History();
  const base = history.commit([], { a: '1', [workflow]: 'old' });
  const main = history.commit([base], { a: '1', [workflow]: 'old' });
  const server = new MemoryServer(history, { 'refs/heads/main': main, 'refs/heads/sandbox/work': main });
  server.name(main, 'main');
  const next = history.commit([main], { a: '2', [workflow]: 'old' });
  const bodyOf = (commands: readonly PushCommand[]): Buffer =>
    Buffer.concat([
      commandLines(commands),
      history.pack(
        commands.map(({ newId }) => newId),
        server,
      ),
    ]);
  const good = bodyOf([command('refs/heads/sandbox/work', next, main)]);
  return { history, base, main, next, server, bodyOf, good };
}

interface Options {
  readonly policy?: typeof strict;
  readonly fields?: readonly [string, string][];
  readonly spool?: Spool;
}

/** A push on its way through the judge: what it ends in, and what it leaves behind. */
function pushing(exchange: ScriptedExchange, server: GitServer, options: Options = {}) {
  const spool = options.spool ?? new Spool(directory, () => 10_000_000);
  const accepted = acceptedFlow(
    callerFrom(),
    canonicalOf('POST', 'https://git.example.com/acme/widgets/git-receive-pack'),
    {
      headers: HeaderList.from([
        ['Content-Type', 'application/x-git-receive-pack-request'],
        ['Authorization', 'Basic of-the-sandbox'],
        ...(options.fields ?? []),
      ]),
    },
  );
  const flow: Identified = { ...accepted, exchange, sandbox: sandboxWith() };
  flows.push(flow);
  const opened: AbortSignal[] = [];
  const openGitServer = (_flow: Identified, _permission: unknown, signal: AbortSignal): GitServer => {
    opened.push(signal);
    return server;
  };
  const result = judgePush(flow, permission, options.policy ?? strict, { spool, openGitServer });
  return { flow, spool, opened, result };
}

async function refusalOf(result: Promise<unknown>): Promise<Refusal> {
  const error = await result.then(
    () => new Error('it passed'),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

/** What the upstream would get. */
async function sentBy(flow: Authorized): Promise<RecordingWriter> {
  const to = new RecordingWriter();
  flow.exchange.sendBody(to);
  for (let n = 0; n < 200 && to.ended === undefined && to.failure === null; n++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return to;
}

const wordsOf = (refusal: Refusal): string => Buffer.from(refusal.inProtocol?.body ?? []).toString('latin1');
const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

/** Whether a push held its room on disk gives it back when its flow is over. */
async function expectRoomBack(flow: Identified, spool: Spool): Promise<void> {
  flow.trail.end();
  await turns();
  expect(spool.bytes).toBe(0);
}

describe('a push that breaks no rule is sent on exactly as it was judged', () => {
  test('from the disk, with its length, without the proof of the sandbox; and its room is given back', async () => {
    const { server, good } = ground();
    const { flow, spool, result } = pushing(withBody([good.subarray(0, 90), good.subarray(90)]), server);
    const judged = await result;
    expect(judged.permission).toBe(permission);
    expect(judged.exchange.requestFraming).toEqual({ kind: 'length', bytes: good.length });
    expect(judged.request.headers.names).toEqual(['Content-Type', 'Content-Length']);
    expect(judged.request.headers.get('content-length')).toBe(String(good.length));
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
    expect(judged.request.headers.names).toEqual(['Content-Type', 'Content-Length']);
    expect(Buffer.concat((await sentBy(judged)).chunks)).toEqual(good);
    judged.trail.end();
  });

  test('the probe before a large push, and a deletion that is allowed, ask the server nothing', async () => {
    const { server, main } = ground();
    const policy = { ...strict, allowBranchDeletion: true };
    const deletion = commandLines([command('refs/heads/sandbox/work', zeroId, main)]);
    for (const body of [Buffer.from('0000'), deletion]) {
      const { result } = pushing(withBody([body]), server, { policy });
      expect(Buffer.concat((await sentBy(await result)).chunks)).toEqual(body);
    }
    expect(server.asked).toEqual([]);
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
    expect(server.asked).toContain('refs refs/heads/ refs/heads/main refs/heads/master');
  });
});

describe('a push that is decided by its commands alone is not kept waiting', () => {
  test('it goes on while it is still coming, and the server is not asked', async () => {
    const { server, good } = ground();
    const exchange = withBody([good.subarray(0, good.length - 40)], 'goes on');
    const { opened, spool, result } = pushing(exchange, server, { policy: byCommands });
    const judged = await result;
    expect(judged.exchange.requestFraming).toEqual({ kind: 'chunked' });
    expect(judged.request.headers.names).toEqual(['Content-Type']);
    const to = new RecordingWriter();
    judged.exchange.sendBody(to);
    await turns();
    expect([Buffer.concat(to.chunks).length, to.ended]).toEqual([good.length - 40, undefined]);
    exchange.to?.write(good.subarray(good.length - 40));
    exchange.to?.end(null);
    await turns();
    expect([Buffer.concat(to.chunks).equals(good), to.ended]).toEqual([true, null]);
    expect([opened, spool.bytes, server.asked]).toEqual([[], 0, []]);
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
    expect((await refusalOf(result)).code).toBe('push.protected-branch');
  });
});

describe('a push that breaks a rule is refused with every finding at once', () => {
  test('of its commands, its options, its history and its paths; nothing goes on', async () => {
    const { history, server, base, main } = ground();
    const bad = history.commit([base], { a: '1', [workflow]: 'new' });
    const commands = [command('refs/heads/sandbox/work', bad, main), command('refs/heads/main', bad, main)];
    const section = commandLines(commands, 'report-status side-band-64k push-options');
    const option = Buffer.from('0017ci.variable=SECRET=10000'.slice(0, 23));
    const body = Buffer.concat([section, option, Buffer.from('0000'), history.pack([bad], server)]);
    const { flow, spool, result } = pushing(withBody([body]), server);
    const refusal = await refusalOf(result);
    expect([refusal.code, refusal.message]).toEqual([
      'push.protected-branch',
      'main is a protected branch (and 4 more)',
    ]);
    const words = wordsOf(refusal);
    expect(words).toContain('Nothing of it was sent to git.example.com.');
    expect(words).toContain('- main is a protected branch (rule: policy.protected_branches[0])');
    expect(words).toContain('- the push option ci.variable is an order');
    expect(words).toContain('- this push would rewrite sandbox/work:');
    expect(words).toContain('- this push would rewrite main:');
    expect(words).toContain(`- commit ${bad.slice(0, 12)} changes ${workflow}, which is protected`);
    expect(words).toContain('ng refs/heads/sandbox/work');
    await expectRoomBack(flow, spool);
  });

  test('a branch that would be no commit', async () => {
    const { history, server, next } = ground();
    const tag = history.tag(next);
    const body = Buffer.concat([
      commandLines([command('refs/heads/sandbox/new', tag)]),
      packOf(history.partsOf([...history.closure([tag])].filter((id) => !server.holds(id)))),
    ]);
    const refusal = await refusalOf(pushing(withBody([body]), server).result);
    expect([refusal.code, refusal.rule]).toEqual(['push.namespace', 'built-in: a branch is a commit']);
  });

  test('a client that asked for no report gets a status', async () => {
    const { history, server, next, main } = ground();
    const commands = [command('refs/heads/main', next, main)];
    const body = Buffer.concat([commandLines(commands, 'side-band-64k'), history.pack([next], server)]);
    const refusal = await refusalOf(pushing(withBody([body]), server).result);
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
    const refusal = await refusalOf(pushing(withBody([bad.body]), bad.server).result);
    expect(refusal.message).toContain(`commit ${bad.tip.slice(0, 12)} changes ${workflow}`);
  });

  test('a base that the server does not have leaves the push undecided', async () => {
    const { history, main, server } = ground();
    const delta = literalDelta(5, Buffer.from('hello'));
    const next = history.commit([main], { a: '2', [workflow]: 'old' });
    const parts = history.partsOf([...history.closure([next])].filter((id) => !server.holds(id)));
    const pack = packOf([...parts, { code: 7, base: 'c'.repeat(40), content: delta }]);
    const body = Buffer.concat([commandLines([command('refs/heads/sandbox/work', next, main)]), pack]);
    const refusal = await refusalOf(pushing(withBody([body]), server).result);
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

describe('what cannot be judged is refused', () => {
  test('what is not git at all, before a byte of it is read', async () => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    const { result } = pushing(exchange, server, { fields: [['Content-Type', 'text/plain']] });
    expect((await refusalOf(result)).code).toBe('git.malformed');
    expect(exchange.to).toBeNull();
  });

  test('commands that cannot be read: by a status, because the client cannot be answered in its words', async () => {
    const { server } = ground();
    const { opened, result } = pushing(withBody([Buffer.from('zzzz')]), server);
    const refusal = await refusalOf(result);
    expect([refusal.code, refusal.status, refusal.inProtocol]).toEqual(['git.malformed', 400, null]);
    expect(opened).toEqual([]);
  });

  test('a pack that is broken, in words of git, after all of it was read', async () => {
    const { server, good } = ground();
    const broken = Buffer.from(good);
    broken[good.length - 1]! ^= 1;
    const exchange = withBody([broken.subarray(0, 300), broken.subarray(300)]);
    const refusal = await refusalOf(pushing(exchange, server).result);
    expect(refusal.code).toBe('git.malformed');
    expect(wordsOf(refusal)).toContain('the checksum of the pack is wrong');
    expect(exchange.bytesIn).toBe(broken.length);
  });

  test('one that is too large: in words of git where it ends in time, else by a status', async () => {
    const { server, good } = ground();
    const policy = { ...strict, limits: { ...strict.limits, pushBytes: good.length - 10 } };
    const near = await refusalOf(
      pushing(withBody([good.subarray(0, 300), good.subarray(300)]), server, { policy }).result,
    );
    expect(near.code).toBe('limit.push-size');
    expect(wordsOf(near)).toContain('Push in parts');
    const endless = [good, ...Array.from({ length: 50 }, () => Buffer.alloc(100_000))];
    const far = await refusalOf(pushing(withBody(endless), server, { policy }).result);
    expect([far.code, far.status, far.inProtocol]).toEqual(['limit.push-size', 413, null]);
  });

  test('no room on disk: in words of git, and the room is free again at once', async () => {
    const { server, good } = ground();
    const spool = new Spool(directory, () => 200);
    const refusal = await refusalOf(
      pushing(withBody([good.subarray(0, 100), good.subarray(100)]), server, { spool }).result,
    );
    expect([refusal.code, refusal.rule]).toEqual(['limit.push-size', 'limits.spool_bytes']);
    expect(wordsOf(refusal)).toContain('no room left');
    expect(spool.bytes).toBe(0);
  });

  test('a server that cannot be asked: its refusal, in words of git, and its cause for the operator alone', async () => {
    const { server, good } = ground();
    server.refs = async () => {
      throw new Refusal('credential.missing', 'the credential github is not set', { cause: 'a secret cause' });
    };
    const refusal = await refusalOf(pushing(withBody([good]), server).result);
    expect([refusal.code, refusal.cause]).toEqual(['credential.missing', 'a secret cause']);
    expect(wordsOf(refusal)).toContain('the credential github is not set');
    expect(wordsOf(refusal)).not.toContain('secret cause');
  });

  test('a fault of our own is no finding: it is thrown as it is', async () => {
    const { server, good } = ground();
    const fault = new TypeError('x is undefined');
    server.objects = async () => {
      throw fault;
    };
    await expect(pushing(withBody([good]), server).result).rejects.toBe(fault);
    const spool = new Spool(join(directory, 'none'), () => 1_000_000);
    await expect(pushing(withBody([good]), server, { spool }).result).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a client that goes away ends the judgement, wherever it stands', () => {
  test.each([
    ['before its commands', 0],
    ['within them', 50],
    ['within its pack', 250],
  ])('%s', async (_, bytes) => {
    const { server, good } = ground();
    const exchange = withBody(bytes === 0 ? [] : [good.subarray(0, bytes)], 'goes on');
    const { flow, spool, result } = pushing(exchange, server);
    await turns();
    exchange.onAbandoned?.();
    await expect(result).rejects.toThrow(ClientGone);
    expect(server.asked).toEqual([]);
    await expectRoomBack(flow, spool);
  });

  test.each(['refs', 'objects'] as const)('while the server is asked for %s, which is told', async (question) => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    let asked: (() => void) | undefined;
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    server[question] = () => {
      asked?.();
      return new Promise((_, reject) => opened[0]?.addEventListener('abort', () => reject(new Error('given up'))));
    };
    const { flow, spool, opened, result } = pushing(exchange, server);
    const ended = expect(result).rejects.toThrow(ClientGone);
    await reached;
    exchange.onAbandoned?.();
    await ended;
    expect(opened[0]?.aborted).toBe(true);
    await expectRoomBack(flow, spool);
  });

  test('also when the server answers all the same: nothing is handed on for nobody', async () => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    const refs = server.refs.bind(server);
    server.refs = async (prefixes) => {
      exchange.onAbandoned?.();
      return refs(prefixes);
    };
    await expect(pushing(exchange, server).result).rejects.toThrow(ClientGone);
  });
});
