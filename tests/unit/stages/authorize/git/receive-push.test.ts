import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { Spool, type SpoolFile, SpoolFull } from '../../../../../src/kit/files/spool.ts';
import { BodyPull } from '../../../../../src/path/exchange/body-pull.ts';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import { WorkBudget } from '../../../../../src/protocols/git/objects/work-budget.ts';
import { PushBody, PushTooLarge } from '../../../../../src/stages/authorize/git/receive-push.ts';
import { withBody } from '../../../path/exchange/scripted-exchange.ts';
import { packOf } from '../../../protocols/git/objects/pack-builder.ts';
import { command, commandLines, History, zeroId } from './git-push-ground.ts';

const directory = mkdtempSync(join(tmpdir(), 'receive-push-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const history = new History();
const tip = history.commit([], { a: '1', b: 'two' });
const commands = [command('refs/heads/work', tip)];
const push = Buffer.concat([commandLines(commands), packOf(history.partsOf(history.closure([tip])))]);
const deletion = commandLines([command('refs/heads/work', zeroId, tip)]);

function cut(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

interface Options {
  readonly isCompressed?: boolean;
  readonly maxBytes?: number;
  readonly spoolBytes?: number;
}

function receiving(chunks: readonly Buffer[], options: Options = {}) {
  const exchange = withBody(chunks);
  const spool = new Spool(directory, () => options.spoolBytes ?? 10_000_000);
  const pull = BodyPull.from(exchange);
  const body = new PushBody(pull, options.isCompressed ?? false, options.maxBytes ?? 1_000_000);
  return { exchange, spool, pull, body };
}

async function contentOf(file: SpoolFile | null): Promise<Buffer> {
  return file === null ? Buffer.alloc(0) : file.readAt(0, file.bytes);
}

async function passed(body: PushBody): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body.passThrough()) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a push is taken in: commands first, then its pack', () => {
  test.each([1, 7, 100, 65_536])('in pieces of %i bytes, and what is kept is byte for byte what came', async (size) => {
    for (const isCompressed of [false, true]) {
      const { body, spool } = receiving(cut(isCompressed ? gzipSync(push) : push, size), { isCompressed });
      expect((await body.readCommands()).commands).toEqual(commands);
      expect(body.file).toBeNull();
      const objects = await body.keep(spool);
      expect([...objects!.commits.keys()]).toEqual([tip]);
      expect(await objects!.get(history.commitAt(tip).tree)?.content()).toEqual(
        history.objects.get(history.commitAt(tip).tree)?.content,
      );
      expect(await contentOf(body.file)).toEqual(push);
      expect(spool.bytes).toBe(push.length);
      await body.close();
      await body.close();
      expect(spool.bytes).toBe(0);
    }
  });

  test('a large one in few pieces, whole wherever they are cut, and their room is charged', async () => {
    const pack = packOf([{ code: 3, content: randomBytes(700_000) }]);
    const large = Buffer.concat([commandLines(commands), pack]);
    const { body, spool } = receiving(cut(large, 10_000));
    const written: number[] = [];
    const counting: Pick<Spool, 'open'> = {
      open: async () => {
        const file = await spool.open();
        const write = file.write.bind(file);
        file.write = (chunk) => {
          written.push(chunk.length);
          return write(chunk);
        };
        return file;
      },
    };
    const budget = new WorkBudget();
    let most = 0;
    const hold = budget.hold.bind(budget);
    budget.hold = (bytes) => {
      hold(bytes);
      most = Math.max(most, budget.heldBytes);
    };
    await body.readCommands();
    await body.keep(counting as Spool, budget);
    expect(written.slice(1)).toEqual([256 * 1024, 256 * 1024, large.length - 10_000 - 512 * 1024]);
    expect((await contentOf(body.file)).equals(large)).toBe(true);
    expect(most).toBeGreaterThan(512 * 1024);
    expect(budget.heldBytes).toBeLessThan(10_000);
    await body.close();
  });

  test('one that is decided by its commands passes as it comes, and nothing is kept', async () => {
    const { body, spool } = receiving(cut(push, 9));
    await body.readCommands();
    expect(await passed(body)).toEqual(push);
    expect([body.file, spool.bytes]).toEqual([null, 0]);
  });

  test('a deletion carries no pack, and a probe not even a command', async () => {
    for (const [bytes, count] of [
      [deletion, 1],
      [Buffer.from('0000'), 0],
    ] as const) {
      const { body, spool } = receiving([bytes]);
      expect((await body.readCommands()).commands).toHaveLength(count);
      expect(await body.keep(spool)).toBeNull();
      expect(await contentOf(body.file)).toEqual(bytes);
      await body.close();
    }
  });
});

describe('what cannot be read in one way only is refused', () => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['half a command section', push.subarray(0, 50)],
    ['no lines of git', Buffer.from('hello')],
  ])('%s', async (_, bytes) => {
    await expect(receiving([bytes]).body.readCommands()).rejects.toMatchObject({ code: 'malformed' });
  });

  test.each([
    ['half a pack', push.subarray(0, push.length - 30)],
    ['no pack where one must follow', commandLines(commands)],
    ['bytes behind the pack', Buffer.concat([push, Buffer.from('x')])],
  ])('%s', async (_, bytes) => {
    const { body, spool } = receiving(cut(bytes, 40));
    await body.readCommands();
    await expect(body.keep(spool)).rejects.toMatchObject({ code: 'malformed' });
    await body.close();
  });

  test('bytes behind a push that carries no pack, together with it or later', async () => {
    await expect(receiving([Buffer.concat([deletion, push])]).body.readCommands()).rejects.toMatchObject({
      code: 'malformed',
    });
    const { body, spool } = receiving([deletion, Buffer.from('PACK')]);
    await body.readCommands();
    await expect(body.keep(spool)).rejects.toMatchObject({ code: 'malformed' });
    await body.close();
  });

  test.each([
    ['that is none', push],
    ['that is cut short', gzipSync(push).subarray(0, 60)],
    ['with a wrong checksum', Buffer.concat([gzipSync(push).subarray(0, -8), Buffer.alloc(8)])],
    ['of another kind', Buffer.from([0x78, 0x9c, 1, 2, 3, 4])],
  ])('a compression %s', async (_, bytes) => {
    const { body, spool } = receiving(cut(bytes, 40), { isCompressed: true });
    const reading = body.readCommands().then(() => body.keep(spool));
    await expect(reading).rejects.toMatchObject({ name: 'GitWireError', code: 'malformed' });
    await body.close();
    expect(spool.bytes).toBe(0);
  });
});

describe('a push is held to its limit', () => {
  test('of exactly the limit it passes, one byte more is too large, kept or passed through', async () => {
    const exact = receiving(cut(push, 16), { maxBytes: push.length });
    await exact.body.readCommands();
    await exact.body.keep(exact.spool);
    await exact.body.close();
    for (const read of [(body: PushBody, spool: Spool) => body.keep(spool), passed]) {
      const { body, spool } = receiving(cut(push, 16), { maxBytes: push.length - 1 });
      await body.readCommands();
      await expect(read(body, spool)).rejects.toThrow(PushTooLarge);
      await body.close();
    }
    const early = receiving(cut(push, 16), { maxBytes: 20 });
    await expect(early.body.readCommands()).rejects.toThrow('the push has more than 20 bytes');
  });

  test('what unfolds is counted unfolded, and unfolds no further than the limit', async () => {
    const bomb = gzipSync(Buffer.concat([commandLines(commands), Buffer.alloc(64 * 1024 * 1024)]));
    expect(bomb.length).toBeLessThan(100_000);
    const { body, spool } = receiving([bomb], { isCompressed: true, maxBytes: 300_000 });
    await body.readCommands();
    let bytes = 0;
    const reading = (async () => {
      for await (const piece of body.passThrough()) bytes += piece.length;
    })();
    await expect(reading).rejects.toThrow(PushTooLarge);
    expect(bytes).toBeLessThanOrEqual(300_000);
    expect(spool.bytes).toBe(0);
  });

  test('no room on the disk of the gateway is told as such', async () => {
    const { body, spool } = receiving(cut(push, 16), { spoolBytes: 100 });
    await body.readCommands();
    await expect(body.keep(spool)).rejects.toThrow(SpoolFull);
    expect(await body.drain()).toBe(true);
    expect(spool.bytes).toBe(0);
  });
});

describe('a push that is refused half-way is read to its end, within reason', () => {
  test('to the end, and its room on the disk is given back first', async () => {
    const { body, spool, exchange } = receiving(cut(push, 16));
    await body.readCommands();
    const keeping = body.keep(spool);
    await keeping;
    expect(spool.bytes).toBe(push.length);
    expect(await body.drain()).toBe(true);
    expect([spool.bytes, exchange.bytesIn]).toEqual([0, push.length]);
  });

  test('but no more than once its limit', async () => {
    const { body } = receiving([push, ...cut(Buffer.alloc(2_000_000), 50_000)], { maxBytes: 500_000 });
    await body.readCommands();
    expect(await body.drain()).toBe(false);
  });

  test('and not when the client is gone', async () => {
    const { body, pull } = receiving([push]);
    await body.readCommands();
    pull.fail(new ClientGone());
    await expect(body.drain()).rejects.toThrow(ClientGone);
  });

  test('a client that goes away is a client that went away, compressed or not', async () => {
    for (const isCompressed of [false, true]) {
      const pull = new BodyPull();
      const body = new PushBody(pull, isCompressed, 1_000);
      const reading = body.readCommands();
      pull.write((isCompressed ? gzipSync(push) : push).subarray(0, 30));
      pull.fail(new ClientGone());
      await expect(reading).rejects.toThrow(ClientGone);
    }
  });
});
