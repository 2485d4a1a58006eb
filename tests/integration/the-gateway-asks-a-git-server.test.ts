// What the gateway asks by itself while it judges a push, against the real git http-backend over TLS.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ClientGone } from '../../src/path/exchange/client-gone.ts';
import { Refusal } from '../../src/path/refusal.ts';
import { GitWireError } from '../../src/protocols/git/git-wire-error.ts';
import { encodePkt, flushPkt } from '../../src/protocols/git/pkt-line.ts';
import { type AskingGateway, gitHost, gitLogin, startAskingGateway } from '../support/asked-git-server.ts';
import type { GitFolder } from '../support/git-folder.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';

const ca = makeTestCa();
const commits: string[] = [];
let upstream: GitUpstream;
let gateway: AskingGateway;
let widgets: GitFolder;

beforeAll(async () => {
  upstream = await startGitUpstream(ca, { [gitHost]: `${gitLogin.user}:${gitLogin.token}` });
  gateway = startAskingGateway(ca, upstream.address);
  widgets = await upstream.create('acme/widgets');
  for (let i = 0; i < 5; i++) {
    const files = { [`${i % 2}.txt`]: `content ${i}\n`, 'sub/deep/file': `${'line\n'.repeat(200)}${i}\n` };
    commits.push(await widgets.commit({ branch: 'main', files }));
  }
  await widgets.git('tag', '-a', 'v1', '-m', 'v1', 'main');
  await widgets.git('repack', '-adfq');
});

afterAll(async () => {
  gateway.close();
  await upstream.close();
});

/** Every id in `revisions` as the server has it. */
const idsOf = async (...revisions: string[]): Promise<string[]> =>
  (await widgets.git('rev-parse', ...revisions)).split('\n');

async function expectAsStored(ids: readonly string[], from: AskingGateway, repository: string): Promise<void> {
  const objects = await from.open(repository).objects(ids);
  expect([...objects.keys()].sort()).toEqual([...new Set(ids)].sort());
  for (const [id, { type, content }] of objects) {
    expect(await widgets.git('cat-file', '-t', id)).toBe(type);
    expect(content.length).toBe(Number(await widgets.git('cat-file', '-s', id)));
  }
}

describe('the gateway asks a git server with the credential of the push', () => {
  test('which refs there are, and what tags lead to', async () => {
    const [tag] = await idsOf('v1');
    expect(await gateway.open('acme/widgets').refs(['refs/heads/', 'refs/tags/v'])).toEqual([
      { name: 'refs/heads/main', id: commits[4], peeled: null, symrefTarget: null },
      { name: 'refs/tags/v1', id: tag, peeled: commits[4], symrefTarget: null },
    ]);
    expect(await gateway.open('acme/widgets').refs(['refs/heads/other'])).toEqual([]);
    expect(await gateway.open('acme/widgets').refs([])).toEqual([]);
  });

  test('the commits between two points', async () => {
    const between = await gateway.open('acme/widgets').commits([commits[4]!], [commits[1]!]);
    expect([...between.keys()].sort()).toEqual(commits.slice(2).sort());
    const { tree, parents } = between.get(commits[3]!)!;
    expect({ tree, parents }).toEqual({ tree: (await idsOf(`${commits[3]}^{tree}`))[0], parents: [commits[2]] });
    expect((await gateway.open('acme/widgets').commits([commits[0]!], [commits[4]!])).size).toBe(0);
  });

  test('objects of every type by their ids, each alone', async () => {
    await expectAsStored(await idsOf('v1', commits[0]!, `${commits[2]}:sub`, 'main:0.txt'), gateway, 'acme/widgets');
  });

  test('a commit together with its own tree, that tree with its folders and its files', async () => {
    const nested = ['main', 'main^{tree}', 'main:sub', 'main:sub/deep', 'main:sub/deep/file', 'main:0.txt', 'v1'];
    await expectAsStored(await idsOf(...nested, 'main'), gateway, 'acme/widgets');
  });

  test('every file in all its versions, which the server keeps as deltas of each other', async () => {
    await expectAsStored(await idsOf(...commits.map((id) => `${id}:sub/deep/file`)), gateway, 'acme/widgets');
  });

  test('more objects than go into one question', async () => {
    const many = await upstream.create('acme/many');
    const files = Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`f${i}`, `file ${i}\n`]));
    await many.commit({ branch: 'main', files });
    const ids = (await many.git('ls-tree', '--format=%(objectname)', 'main')).split('\n');
    upstream.forget();
    const objects = await gateway.open('acme/many').objects(ids);
    expect(objects.size).toBe(450);
    expect(objects.get(ids[7]!)?.content.toString()).toMatch(/^file \d+\n$/);
    expect(upstream.requests.filter(({ method }) => method === 'POST')).toHaveLength(3);
  });

  test('each question carries the credential and asks for version 2; what the server can do is asked once', async () => {
    upstream.forget();
    const server = gateway.open('acme/widgets', { sandbox: 'sbx_once', path: '/Acme/Widgets.git' });
    await server.refs(['refs/']);
    await gateway.open('acme/widgets', { sandbox: 'sbx_once', path: '/Acme/Widgets.git' }).refs(['refs/']);
    expect(upstream.requests.map(({ method, url, login, protocol }) => [method, url, login, protocol])).toEqual([
      ['GET', '/Acme/Widgets.git/info/refs?service=git-upload-pack', true, 'version=2'],
      ['POST', '/Acme/Widgets.git/git-upload-pack', true, 'version=2'],
      ['POST', '/Acme/Widgets.git/git-upload-pack', true, 'version=2'],
    ]);
  });
});

describe('a server that can do less is still understood', () => {
  test('without filters, what was asked for is taken out of a larger answer', async () => {
    const plain = await upstream.create('acme/plain', {
      filters: false,
      config: { 'uploadpack.allowAnySHA1InWant': 'true' },
    });
    await plain.git('fetch', '-q', widgets.folder, 'main:main', 'v1:refs/tags/v1');
    await expectAsStored(
      await idsOf('main', 'main^{tree}', 'main:sub/deep/file', `${commits[1]}:sub/deep/file`, 'v1'),
      gateway,
      'acme/plain',
    );
    const between = await gateway.open('acme/plain').commits([commits[4]!], [commits[1]!]);
    expect([...between.keys()].sort()).toEqual(commits.slice(2).sort());
  });

  test('one with other names for its objects is told apart before it is asked', async () => {
    await upstream.create('acme/sha256', { objectFormat: 'sha256' });
    const asked = gateway.open('acme/sha256').refs(['refs/']);
    await expect(asked).rejects.toThrow(GitWireError);
    await expect(asked).rejects.toThrow(/SHA-256/);
  });

  test('a history that the server itself does not have whole is not told', async () => {
    const shallow = await upstream.create('acme/shallow');
    await shallow.git('fetch', '-q', '--depth=2', `file://${widgets.folder}`, 'main:main');
    await expect(gateway.open('acme/shallow').commits([commits[4]!], [])).rejects.toThrow(/shallow/);
  });
});

describe('what the server does not give is an error', () => {
  test('an object that it does not have; its own words are for the operator', async () => {
    const asked = gateway.open('acme/widgets').objects([commits[0]!, 'e'.repeat(40)]);
    const refusal = await asked.catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      code: 'push.undecided',
      cause: { remoteText: expect.stringContaining('not our ref') },
    });
    expect(`${(refusal as Refusal).message} ${(refusal as Refusal).hint}`).not.toContain('not our ref');
  });

  test('a repository that asks for a login where no credential is set: what to set is said, and not what the server says', async () => {
    const without = startAskingGateway(ca, upstream.address, { credential: false });
    const refusal = await without
      .open('acme/widgets')
      .refs(['refs/'])
      .catch((error: unknown) => error);
    without.close();
    expect(refusal).toMatchObject({ code: 'credential.missing', message: expect.stringContaining('asks for a login') });
    expect((refusal as Refusal).message).not.toContain('who are you');
  });

  test('a repository that is not there', async () => {
    await expect(gateway.open('acme/nothing').refs(['refs/'])).rejects.toMatchObject({ code: 'push.undecided' });
  });
});

describe('an answer takes no more than it may', () => {
  test('one too large for memory goes to the spool, and leaves nothing there', async () => {
    const small = startAskingGateway(ca, upstream.address, { limits: { maxMemoryBytes: 100 } });
    await expectAsStored(await idsOf('main', 'main:sub', 'main:sub/deep/file', 'main:0.txt'), small, 'acme/widgets');
    expect((await small.open('acme/widgets').commits([commits[4]!], [])).size).toBe(5);
    expect(small.spool.bytes).toBe(0);
    small.close();
  });

  test.each([
    ['bytes of the pack', { maxPackBytes: 100 }],
    ['objects', { maxObjects: 3 }],
    ['decompressed bytes', { maxInflatedBytes: 300 }],
  ])('no more %s than the limit', async (_, limits) => {
    const strict = startAskingGateway(ca, upstream.address, { limits });
    const asked = strict.open('acme/widgets').commits([commits[4]!], []);
    await expect(asked).rejects.toMatchObject({ name: 'GitWireError', code: 'too-large' });
    strict.close();
  });

  test('nothing is asked for a client that is gone', async () => {
    upstream.forget();
    const gone = gateway.open('acme/widgets', { signal: AbortSignal.abort() });
    await expect(gone.refs(['refs/'])).rejects.toThrow(ClientGone);
    expect(upstream.requests).toEqual([]);
  });
});

describe('over HTTP/1.1', () => {
  test('a kept connection that the server has closed costs one more try, and no more', async () => {
    const byConnection = new Map<object, string[]>();
    const server = createServer(ca.issue([gitHost]), (request, response) => {
      const asked = byConnection.get(request.socket) ?? [];
      byConnection.set(request.socket, [...asked, request.method ?? '']);
      // The first connection takes one request, and is gone when the next comes.
      if (byConnection.size === 1 && asked.length === 1) {
        request.socket.destroy();
        return;
      }
      const isGet = request.method === 'GET';
      response.setHeader('Content-Type', `application/x-git-upload-pack-${isGet ? 'advertisement' : 'result'}`);
      const lines = isGet
        ? ['version 2\n', 'ls-refs\n', 'fetch=shallow filter\n']
        : [`${commits[0]} refs/heads/main\n`];
      request.resume();
      response.end(Buffer.concat([...lines.map((line) => encodePkt(line)), flushPkt]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const old = startAskingGateway(ca, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    const refs = await old.open('acme/widgets').refs(['refs/heads/']);
    old.close();
    server.close();
    server.closeAllConnections();
    expect(refs).toEqual([{ name: 'refs/heads/main', id: commits[0], peeled: null, symrefTarget: null }]);
    expect([...byConnection.values()]).toEqual([['GET', 'POST'], ['POST']]);
  });
});
