// Where the body of a push ends must have one answer: a second request, or a second pack, could hide behind the other.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: PushGround;
let repository: TestRepository;
let body: Buffer;
let pack: Buffer;
let next: string;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const { bare, main } = repository;
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  pack = await honestPack(bare, [next], [main]);
  body = pushOf([[zeroId, next, 'refs/heads/fine']], pack);
});

afterAll(() => ground.stop());

const chunked = (bytes: Buffer, end = '0\r\n\r\n'): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from(`\r\n${end}`)]);

describe('a push has one end', () => {
  test.each([
    ['a length and chunks', (length: number) => [`Content-Length: ${length}`, 'Transfer-Encoding: chunked']],
    ['two lengths', (length: number) => [`Content-Length: ${length}`, `Content-Length: ${length - 1}`]],
    ['a list of lengths', (length: number) => [`Content-Length: ${length}, ${length}`]],
    ['a signed length', (length: number) => [`Content-Length: +${length}`]],
    ['chunks in gzip', () => ['Transfer-Encoding: gzip, chunked']],
    ['chunks twice', () => ['Transfer-Encoding: chunked, chunked']],
    ['chunks in two fields', () => ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['chunks, then nothing', () => ['Transfer-Encoding: chunked, identity']],
    ['another word for chunks', () => ['Transfer-Encoding: xchunked']],
    ['a coding alone', () => ['Transfer-Encoding: gzip']],
    ['nothing', () => ['Transfer-Encoding: identity']],
  ])('%s', async (_what, framing) => {
    const bytes = chunked(body);
    await expectStopped(ground, repository, 'malformed.framing', () =>
      sendPush(ground, repository, bytes, { framing: framing(bytes.length) }),
    );
  });

  test.each([
    ['a size that is no number', Buffer.from('zz\r\nabc\r\n0\r\n\r\n')],
    ['a signed size', Buffer.from('+3\r\nabc\r\n0\r\n\r\n')],
    ['bytes behind a chunk', Buffer.from('3\r\nabcd\r\n0\r\n\r\n')],
  ])('chunks with %s', async (_what, bytes) => {
    await expectStopped(ground, repository, 'malformed.framing', () =>
      sendPush(ground, repository, bytes, { framing: ['Transfer-Encoding: chunked'] }),
    );
  });

  test('a folded field', async () => {
    await expectStopped(ground, repository, 'malformed.syntax', () =>
      sendPush(ground, repository, chunked(body), { framing: ['Transfer-Encoding:\r\n chunked'] }),
    );
  });

  test('without any length there is no push', async () => {
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body, { framing: [] }));
  });

  test('a method in the place of another', async () => {
    await expectStopped(ground, repository, 'git.not-understood', () =>
      sendPush(ground, repository, body, { more: ['X-HTTP-Method-Override: PUT'] }),
    );
  });

  test('fields behind the body do not travel as fields of it', async () => {
    const end = '0\r\nAuthorization: Basic bWU6bWU=\r\nContent-Encoding: gzip\r\n\r\n';
    await expectStopped(ground, repository, 'malformed.framing', () =>
      sendPush(ground, repository, chunked(body, end), {
        framing: ['Transfer-Encoding: chunked'],
        more: ['Trailer: Authorization, Content-Encoding'],
      }),
    );
  });

  test('a second push behind the first is judged by itself', async () => {
    const { bare, main } = repository;
    const other = await bare.commit({ branch: 'refs/made/other', parents: [main], files: { o: 'o\n' } });
    const sly = pushOf([[main, other, 'refs/heads/main']], await honestPack(bare, [other], [main]));
    const head = (bytes: Buffer, more: string): Buffer =>
      Buffer.from(
        `POST /${repository.name}.git/git-receive-pack HTTP/1.1\r\nHost: github.com\r\n` +
          `Content-Type: application/x-git-receive-pack-request\r\nContent-Length: ${bytes.length}\r\n${more}\r\n`,
      );
    const first = pushOf([[zeroId, next, 'refs/heads/first']], pack);
    ground.upstream.forget();
    const both = Buffer.concat([head(first, ''), first, head(sly, 'Connection: close\r\n'), sly]);
    const answer = await sendTunnelled(ground.gateway, 'github.com', both, { waitMs: 15_000 });
    expect(answer.statuses).toEqual([200, 200]);
    expect(answer.code).toBe('push.protected-branch');
    expect(ground.upstream.pushes).toHaveLength(1);
    expect(await bare.refs()).toMatchObject({ 'refs/heads/main': main, 'refs/heads/first': next });
  });

  test('a client that asks before it sends is told to go on, and judged', async () => {
    const push = pushOf([[zeroId, next, 'refs/heads/asked']], pack);
    const socket = await openTls(ground.gateway, 'github.com:443', { caPath: ground.gateway.caPath });
    const wire = new Wire(socket);
    wire.send(
      `POST /${repository.name}.git/git-receive-pack HTTP/1.1\r\nHost: github.com\r\nExpect: 100-continue\r\n` +
        `Content-Type: application/x-git-receive-pack-request\r\nContent-Length: ${push.length}\r\n\r\n`,
    );
    expect(await wire.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(push);
    expect(await wire.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await wire.until('ok refs/heads/asked')).toContain('unpack ok');
    socket.destroy();
    expect(await repository.bare.tip('asked')).toBe(next);
  });

  test('honest chunks pass, however small, so that the refusals above mean something', async () => {
    const pieces: Buffer[] = [];
    for (let at = 0; at < body.length; at += 7) pieces.push(chunked(body.subarray(at, at + 7), ''));
    const bytes = Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
    await expectTaken(ground, () =>
      sendPush(ground, repository, bytes, { framing: ['Transfer-Encoding: chunked'], pieceBytes: 13 }),
    );
    expect(await repository.bare.tip('fine')).toBe(next);
  });
});
