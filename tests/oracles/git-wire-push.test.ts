// Our reading of a push against the one that counts: a real client sends it, a real receive-pack writes down what it
// understood, and the two must be the same. And our no must reach the person at the client.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAdvertisement } from '../../src/protocols/git/advertisement.ts';
import { encodePkt, flushPkt } from '../../src/protocols/git/pkt-line.ts';
import { type ReceivePackRequest, ReceivePackRequestReader } from '../../src/protocols/git/receive-pack-request.ts';
import { renderRefusedPush } from '../../src/protocols/git/report.ts';
import { pushAdvertisementChange, rewriteAdvertisement } from '../../src/protocols/git/rewrite-advertisement.ts';
import { GitGround, type PushServer, type PushServerOptions, servePushes } from './git-wire-ground.ts';

const ground = new GitGround();
const servers: PushServer[] = [];

async function serve(options: PushServerOptions = {}): Promise<PushServer> {
  const server = await servePushes(ground, options);
  servers.push(server);
  return server;
}

function read(body: Buffer): ReceivePackRequest {
  const reader = new ReceivePackRequestReader();
  // Cut small, as a network might.
  for (let at = 0; at < body.length; at += 7) {
    if (!reader.feed(body.subarray(at, at + 7))) continue;
    const { result } = reader;
    return { ...result, rest: Buffer.concat([result.rest, body.subarray(at + 7)]) };
  }
  return reader.result;
}

const asLines = (request: ReceivePackRequest): string[] =>
  request.commands.map(({ oldId, newId, ref }) => `${oldId} ${newId} ${ref}`);

beforeAll(async () => {
  await ground.prepare();
  ground.installWitness(true);
  await ground.commit('a.txt', 'one\n');
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  ground.remove();
});

describe('a real push means to us what it means to git', () => {
  const pushes: [string, string[]][] = [
    ['a first branch', ['main']],
    ['several refs, a tag among them', ['main:refs/heads/topic/é', 'main:refs/heads/b', 'v1']],
    ['push options', ['-o', 'ci.skip', '-o', 'topic=a b', 'main:refs/heads/c']],
    ['a forced update and a deletion', ['--atomic', '+old:refs/heads/b', ':refs/heads/c']],
    ['deletions alone', ['--delete', 'refs/heads/b', 'refs/tags/v1']],
  ];

  test.each(pushes)('%s', async (_, refspecs) => {
    const { url, pushes: bodies } = await serve();
    await ground.git(['tag', '-f', '-a', 'v1', '-m', 'v1', 'main']);
    await ground.git(['branch', '-f', 'old', 'main~0']);
    await ground.git(['push', url, ...refspecs]);
    const witness = ground.takeWitness();
    const request = read(bodies.at(-1)!);
    expect(asLines(request)).toEqual(witness?.commands);
    expect(request.pushOptions).toEqual(witness?.pushOptions);
    expect(request.unknownCapabilities).toEqual([]);
    expect(request.agent).toMatch(/^git\//);
    expect(request.packFollows).toBe(request.rest.length > 0);
    if (request.packFollows) expect(request.rest.subarray(0, 4).toString()).toBe('PACK');
  });

  test('a push too large for one request is probed first', async () => {
    const { url, pushes: bodies } = await serve();
    await ground.commit('b.txt', Array.from({ length: 4000 }, () => Math.random()).join('\n'));
    await ground.git(['-c', 'http.postBuffer=65536', '-c', 'core.compression=0', 'push', url, 'main:refs/heads/large']);
    const witness = ground.takeWitness();
    expect(bodies[0]?.toString()).toBe('0000');
    expect(read(bodies[0]!)).toMatchObject({ commands: [], packFollows: false });
    expect(asLines(read(bodies.at(-1)!))).toEqual(witness?.commands);
  });

  test('a signed push, by the commands in its certificate', async () => {
    const key = join(ground.folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const { url, pushes: bodies } = await serve();
    const sign = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${key}.pub`];
    await ground.git([...sign, 'push', '--signed=true', '-o', 'x=1', url, 'main:refs/heads/s', 'main:refs/heads/t']);
    const witness = ground.takeWitness();
    const request = read(bodies.at(-1)!);
    expect(request).toMatchObject({ signed: true, pushOptions: ['x=1'] });
    expect(asLines(request)).toEqual(witness?.commands);
    expect(request.commands).toHaveLength(2);
  });

  test('a push from a shallow clone names its shallow commits', async () => {
    const tip = await ground.commit('c.txt', 'three\n');
    const shallow = join(ground.folder, 'shallow');
    await ground.git(['push', '-q', ground.bare, 'main:refs/heads/shallow-base']);
    await ground.git(['clone', '-q', '--depth=1', '-b', 'shallow-base', `file://${ground.bare}`, shallow]);
    await ground.git(['commit', '-q', '--allow-empty', '-m', 'more'], { cwd: shallow });
    const { url, pushes: bodies } = await serve();
    await ground.git(['push', url, 'HEAD:refs/heads/from-shallow'], { cwd: shallow });
    expect(read(bodies.at(-1)!)).toMatchObject({ shallow: [tip] });
  });
});

describe('a real client takes what we write', () => {
  test('the words of a refusal reach the person, for every ref', async () => {
    const answer = (body: Buffer): Buffer | null => {
      const { capabilities, commands } = read(body);
      const messages = ['refs/heads/main is protected (é)', 'Push to sandbox/topic instead.'];
      const reasons = new Map([['refs/heads/main', 'policy.protected_branches[0]']]);
      return renderRefusedPush({ capabilities, commands, messages, reasons });
    };
    const { url, pushes } = await serve({ answer });
    await ground.commit('d.txt', 'four\n');
    ground.takeWitness();
    const pushed = await ground.git(['push', url, 'main', 'main:refs/heads/other'], { mayFail: true });
    expect(pushed.code).toBe(1);
    expect(pushes).toHaveLength(1);
    expect(pushed.stderr).toMatch(/^remote: refs\/heads\/main is protected \(é\) *$/m);
    expect(pushed.stderr).toMatch(/^remote: Push to sandbox\/topic instead\. *$/m);
    expect(pushed.stderr).toMatch(/! \[remote rejected\] main -> main \(policy\.protected_branches\[0\]\)/);
    expect(pushed.stderr).toMatch(/! \[remote rejected\] main -> other \(not done: another ref/);
    expect(ground.takeWitness()).toBeNull();
  });

  test('a large refusal arrives whole', async () => {
    const messages = Array.from({ length: 3 }, (_, i) => `${i} ${'€'.repeat(30_000)}.`);
    const { url } = await serve({
      answer: (body) => renderRefusedPush({ ...read(body), messages, reasons: new Map() }),
    });
    const refs = Array.from({ length: 400 }, (_, i) => `main:refs/heads/many/${i}`);
    const { stderr } = await ground.git(['push', url, ...refs], { mayFail: true });
    for (const message of messages) expect(stderr).toContain(message);
    expect(stderr.match(/! \[remote rejected\]/g)).toHaveLength(400);
  });

  test('no-thin in the advertisement makes it send every base it needs', async () => {
    const content = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join('\n');
    await ground.commit('e.txt', content);
    await ground.git(['push', '-q', ground.bare, 'main:refs/heads/thin']);
    await ground.commit('e.txt', `${content}\nmore`);
    const indexes = async (options: PushServerOptions): Promise<boolean> => {
      const { url, pushes } = await serve(options);
      await ground.git(['push', url, 'main:refs/heads/thin']);
      // Outside any repository: a base that is not in the pack is nowhere.
      const file = join(ground.folder, `thin-${servers.length}.pack`);
      writeFileSync(file, read(pushes.at(-1)!).rest);
      const indexed = await ground.git(['index-pack', file], { cwd: ground.folder, mayFail: true });
      return indexed.code === 0;
    };
    const advertise = (bytes: Buffer): Buffer => rewriteAdvertisement(bytes, pushAdvertisementChange);
    expect(await indexes({ advertise })).toBe(true);
    await ground.commit('e.txt', `${content}\neven more`);
    expect(await indexes({})).toBe(false);
  });
});

describe('what a real server advertises is read as git shows it', () => {
  test.each(['receive-pack', 'upload-pack'])('%s', async (service) => {
    const { stdout } = await ground.git([service, '--http-backend-info-refs', ground.bare]);
    const framed = Buffer.concat([encodePkt(`# service=git-${service}\n`), flushPkt, stdout]);
    const shown = (await ground.git(['ls-remote', ground.bare])).stdout.toString().trim().split('\n');
    const { refs, capabilities } = parseAdvertisement(framed);
    const isShown = service === 'upload-pack' ? shown : shown.filter((line) => !/HEAD$|\^\{\}$/.test(line));
    expect(refs.map(({ id, name }) => `${id}\t${name}`)).toEqual(isShown);
    expect(capabilities).toContain('object-format=sha1');
  });
});
