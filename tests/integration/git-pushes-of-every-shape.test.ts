import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { rejected } from '../support/git-sandbox.ts';
import { expectPushed, expectRefused, openPushGround, type PushGround } from '../support/push-ground.ts';
import { honestPack, pushOf, zeroId } from '../support/raw-push.ts';
import { runClient } from '../support/run-client.ts';
import { openHttp2 } from '../support/tunnel-client.ts';

let ground: PushGround;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

/** From now on the repository writes down what its receive-pack was told beside the refs. */
function addWitness(bare: GitFolder): () => string {
  const hook = join(bare.folder, 'hooks', 'pre-receive');
  const file = join(bare.folder, 'witness');
  const cert = '[ -z "$GIT_PUSH_CERT" ] || git cat-file blob "$GIT_PUSH_CERT"';
  writeFileSync(hook, `#!/bin/sh\n{ env | grep '^GIT_PUSH' | sort; ${cert}; } > '${file}'\n`);
  chmodSync(hook, 0o755);
  return () => readFileSync(file, 'utf8');
}

describe('every honest push arrives as it was sent', () => {
  test('a new branch at a commit that is there: a pack of nothing', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await expectPushed(ground, () => clone.run(['push', 'origin', 'main:copy']));
    expect(await repository.bare.tip('copy')).toBe(repository.main);
  });

  test('merges of merges', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const commit = (branch: string, ...parents: string[]) =>
      clone.commit({ branch, parents, files: { [branch]: `${parents}\n` } });
    const [a, b, c] = [await commit('a', repository.main), await commit('b', repository.main), await commit('c')];
    const octopus = await commit('d', a, b, c);
    const tip = await commit('e', await commit('f', octopus, a), await commit('g', b, octopus));
    await expectPushed(ground, () => clone.run(['push', 'origin', 'e']));
    expect(await repository.bare.tip('e')).toBe(tip);
    await repository.bare.git('fsck', '--strict');
  });

  test('files that change a little: deltas, but none on something left out', async () => {
    const repository = await ground.repository();
    const text = Array.from({ length: 2_000 }, () => randomBytes(20).toString('hex')).join('\n');
    await repository.bare.commit({ branch: 'feature', parents: [repository.main], files: { 'src/large.txt': text } });
    const clone = await ground.sandbox.clone(repository.url, '--branch=feature');
    for (let i = 0; i < 5; i++) {
      await clone.commit({ branch: 'feature', files: { 'src/large.txt': `${text}\n${i}`, [`src/${i}`]: `${i}` } });
    }
    const run = await expectPushed(ground, () =>
      clone.run(['push', 'origin', 'feature'], '', { GIT_TRACE_PACKET: '1' }),
    );
    expect(run.stderr).toMatch(/git< .* refs\/heads\/\S+\\0.* no-thin\b/);
    expect(await repository.bare.tip('feature')).toBe(await clone.tip('feature'));
    await repository.bare.git('fsck', '--strict');
  });

  test.each([
    ['HTTP/1.1', '1m'],
    ['HTTP/1.1', '64k'],
    ['HTTP/2', '1m'],
    // Not HTTP/2 and 64k: libcurl 7.88 now and then forgets to say that an upload of unknown length is at its end.
  ])('a push of half a megabyte over %s, sent with a buffer of %s', async (version, buffer) => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const noise = randomBytes(384 * 1024).toString('base64');
    const tip = await clone.commit({ branch: 'noise', parents: [repository.main], files: { noise } });
    await expectPushed(ground, () =>
      clone.run(['-c', `http.version=${version}`, '-c', `http.postBuffer=${buffer}`, 'push', 'origin', 'noise']),
    );
    expect(await repository.bare.tip('noise')).toBe(tip);
    expect(ground.upstream.pushes[0]!.bodyBytes).toBeGreaterThan(384 * 1024);
  });

  test.each([
    ['HTTP/1.1', '64k'],
    ['HTTP/2', '1m'],
  ])('one of that size is refused in the same words over %s, sent with a buffer of %s', async (version, buffer) => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'main', files: { noise: randomBytes(384 * 1024).toString('base64') } });
    const run = await expectRefused(ground, repository, 'push.protected-branch', () =>
      clone.run(['-c', `http.version=${version}`, '-c', `http.postBuffer=${buffer}`, 'push', 'origin', 'main']),
    );
    expect(Object.keys(rejected(run))).toEqual(['main']);
  });

  test('over HTTP/2 in pieces, without saying how long it will be', async () => {
    const { name, bare, main } = await ground.repository();
    const noise = randomBytes(384 * 1024).toString('base64');
    const next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { noise } });
    const body = pushOf([[zeroId, next, 'refs/heads/pieces']], await honestPack(bare, [next], [main]));
    const session = await openHttp2(ground.gateway, 'github.com', { caPath: ground.gateway.caPath });
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${name}.git/git-receive-pack`,
      'content-type': 'application/x-git-receive-pack-request',
    });
    const answer: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => answer.push(chunk));
    const ended = new Promise((resolve) => stream.on('close', resolve));
    for (let at = 0; at < body.length; at += 10_000) {
      if (!stream.write(body.subarray(at, at + 10_000))) await new Promise((resolve) => stream.once('drain', resolve));
    }
    stream.end();
    await ended;
    session.close();
    expect(Buffer.concat(answer).toString()).toContain('ok refs/heads/pieces');
    expect(await bare.tip('pieces')).toBe(next);
  });

  test('with options for the server', async () => {
    const repository = await ground.repository({ config: { 'receive.advertisePushOptions': 'true' } });
    const witness = addWitness(repository.bare);
    const clone = await ground.sandbox.clone(repository.url);
    await expectPushed(ground, () => clone.run(['push', '-o', 'ci.skip', '-o', 'über=1', 'origin', 'main:copy']));
    expect(witness()).toContain('GIT_PUSH_OPTION_0=ci.skip\nGIT_PUSH_OPTION_1=über=1\n');
  });

  test('signed, and the signature still holds', async () => {
    const repository = await ground.repository({ config: { 'receive.certNonceSeed': 'seed' } });
    const witness = addWitness(repository.bare);
    const clone = await ground.sandbox.clone(repository.url);
    const key = join(ground.sandbox.home.folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const tip = await clone.commit({ branch: 'signed', parents: [repository.main], files: { s: 's\n' } });
    const settings = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${key}.pub`];
    await expectPushed(ground, () => clone.run([...settings, 'push', '--signed', 'origin', 'signed']));
    expect(await repository.bare.tip('signed')).toBe(tip);
    expect(witness()).toMatch(/^GIT_PUSH_CERT_NONCE_STATUS=(OK|SLOP)$/m);
    const text = witness().slice(witness().indexOf('certificate version'));
    const at = text.indexOf('-----BEGIN SSH SIGNATURE-----');
    const signature = join(ground.sandbox.home.folder, 'push.sig');
    writeFileSync(signature, text.slice(at));
    const check = ['-Y', 'check-novalidate', '-n', 'git', '-s', signature];
    expect(await runClient('ssh-keygen', check, { input: text.slice(0, at) })).toMatchObject({ code: 0 });
  });

  test('signed, and refused all the same', async () => {
    const repository = await ground.repository({ config: { 'receive.certNonceSeed': 'seed' } });
    const clone = await ground.sandbox.clone(repository.url);
    const key = join(ground.sandbox.home.folder, 'other-key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await clone.commit({ branch: 'main', files: { s: 's\n' } });
    const settings = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${key}.pub`];
    const run = await expectRefused(ground, repository, 'push.protected-branch', () =>
      clone.run([...settings, 'push', '--signed', 'origin', 'main']),
    );
    expect(Object.keys(rejected(run))).toEqual(['main']);
  });

  test('from a shallow clone', async () => {
    const repository = await ground.repository();
    for (let i = 0; i < 3; i++) await repository.bare.commit({ branch: 'main', files: { 'src/n': `${i}` } });
    const clone = await ground.sandbox.clone(repository.url, '--depth=1');
    const tip = await clone.commit({ branch: 'on-top', parents: ['main'], files: { t: 't\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'on-top']));
    expect(await repository.bare.tip('on-top')).toBe(tip);
    expect(await repository.bare.git('rev-list', '--count', 'on-top')).toBe('5');
  });

  test('from a clone without blobs', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url, '--filter=blob:none', '--no-checkout');
    const tip = await clone.commit({ branch: 'feature', parents: [repository.main], files: { f: 'f\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'feature']));
    expect(await repository.bare.tip('feature')).toBe(tip);
  });

  test('into a repository that is still empty', async () => {
    const bare = await ground.upstream.create('acme/hollow');
    const clone = await ground.sandbox.init('https://github.com/acme/hollow.git');
    const tip = await clone.commit({ branch: 'first', files: { f: 'f\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'first']));
    expect(await bare.tip('first')).toBe(tip);
  });

  test('a history of three thousand commits at once', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const script = Array.from({ length: 3_000 }, (_, i) =>
      [
        `commit refs/heads/long\ncommitter A U Thor <author@example.com> ${1_700_000_000 + i} +0000\ndata 1\nm`,
        ...(i === 0 ? [`from ${repository.main}`] : []),
        `M 100644 inline src/a/b/c/${i % 50}\ndata 5\n${String(i).padStart(5, '0')}`,
      ].join('\n'),
    );
    await clone.run(['fast-import', '--quiet'], `${script.join('\n')}\n`);
    await expectPushed(ground, () => clone.run(['push', 'origin', 'long']));
    expect(await repository.bare.git('rev-list', '--count', 'long')).toBe('3001');
  });

  test('again, when nothing is new', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const run = await clone.run(['push', 'origin', 'main']);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toContain('Everything up-to-date');
  });

  test('tried without doing it', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    ground.upstream.forget();
    const run = await clone.run(['push', '--dry-run', 'origin', 'main:copy']);
    expect(run.code).toBe(0);
    expect(ground.upstream.pushes).toEqual([]);
  });
});

describe('what the server itself says reaches the person', () => {
  test('its words and its refusal', async () => {
    const repository = await ground.repository();
    const hook = join(repository.bare.folder, 'hooks', 'pre-receive');
    writeFileSync(hook, '#!/bin/sh\necho "the server has its own rules" >&2\nexit 1\n');
    chmodSync(hook, 0o755);
    const clone = await ground.sandbox.clone(repository.url);
    const run = await clone.run(['push', 'origin', 'main:copy']);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^remote: the server has its own rules/m);
    expect(rejected(run)).toEqual({ copy: 'pre-receive hook declined' });
    expect(await ground.lastRecord('/git-receive-pack')).toMatchObject({ verdict: 'allowed', status: 200 });
  });
});
