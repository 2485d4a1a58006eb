// Bytes that come one by one: the commands of a push, the pack in an answer of a hostile server, the lines in which it says
// what it can do. Kept as they came, each would take a hundred times its size; joined one by one, all would be copied for each.
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { BodyPull } from '../../../src/path/exchange/body-pull.ts';
import { AdvertisementReader } from '../../../src/protocols/git/advertisement.ts';
import { FetchedPack } from '../../../src/protocols/git/fetched-pack.ts';
import { PackScan } from '../../../src/protocols/git/objects/pack-scan.ts';
import { PackStore } from '../../../src/protocols/git/objects/pack-store.ts';
import { OverBudget, WorkBudget } from '../../../src/protocols/git/objects/work-budget.ts';
import { encodePkt, flushPkt } from '../../../src/protocols/git/pkt-line.ts';
import { PushBody } from '../../../src/stages/authorize/git/receive-push.ts';
import { packOf } from '../../unit/protocols/git/objects/pack-builder.ts';

const mib = 1024 ** 2;
const mostMib = 64;

/** What is in memory after `work`, beyond what was there. `work` returns what is to be kept meanwhile. */
async function grownBy(work: () => Promise<unknown>): Promise<number> {
  const size = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / mib;
  };
  const before = size();
  const kept = await work();
  const after = size();
  expect(kept).toBeDefined();
  return after - before;
}

async function* crumbs(bytes: Buffer): AsyncGenerator<Buffer> {
  for (const [n, byte] of bytes.entries()) {
    if (n % 10_000 === 0) await setImmediate();
    // Not of the shared pool, as what comes from a socket.
    const crumb = Buffer.allocUnsafeSlow(1);
    crumb[0] = byte;
    yield crumb;
  }
}

describe('what comes byte by byte takes what it is', () => {
  test('the commands of a push', async () => {
    const name = 'x'.repeat(40);
    const lines = Array.from({ length: 5_000 }, (_, n) =>
      encodePkt(`${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/${name}${n}${n === 0 ? '\0report-status' : ''}`),
    );
    const source = crumbs(Buffer.concat([...lines, flushPkt]));
    const pull = { next: async () => (await source.next()).value ?? null } as unknown as BodyPull;
    const body = new PushBody(pull, false, 10 * mib);
    const grown = await grownBy(async () => {
      expect((await body.readCommands()).commands).toHaveLength(5_000);
      return body;
    });
    expect(grown).toBeLessThan(mostMib);
  });

  test('the pack of an answer, each byte in a packet of its own', async () => {
    const pack = packOf([{ code: 3, content: randomBytes(2 * mib) }]);
    const packets = Buffer.alloc(pack.length * 6, '0006\x01x', 'latin1');
    for (const [n, byte] of pack.entries()) packets[n * 6 + 5] = byte;
    const store = new PackStore(8 * mib, () => Promise.reject(new Error('it fits in memory')));
    const fetched = new FetchedPack(store);
    const grown = await grownBy(async () => {
      await fetched.feed(encodePkt('packfile\n'));
      for (let at = 0; at < packets.length; at += 65_536) await fetched.feed(packets.subarray(at, at + 65_536));
      return [store, fetched];
    });
    await fetched.feed(flushPkt);
    await fetched.end();
    expect(grown).toBeLessThan(mostMib);
  });

  test('a pack that is fed so is not copied for each byte', async () => {
    const pack = packOf([{ code: 2, content: randomBytes(60_000) }]);
    const scan = new PackScan();
    const copied = countCopies();
    for await (const crumb of crumbs(pack)) await scan.feed(crumb);
    const bytes = copied();
    expect((await scan.end()).packBytes).toBe(pack.length);
    expect(bytes).toBeLessThan(20 * pack.length);
  });

  test('what a server says it can do, in very many lines', () => {
    const lines = Buffer.concat([encodePkt('version 2\n'), Buffer.from('0006ab'.repeat(500_000)), flushPkt]);
    expect(() =>
      new AdvertisementReader({ maxBytes: 16 * mib }, new WorkBudget({ maxHeldBytes: 16 * mib })).feed(lines),
    ).toThrow(OverBudget);
    const few = new AdvertisementReader({ maxBytes: 16 * mib }, new WorkBudget({ maxHeldBytes: 16 * mib }));
    few.feed(Buffer.concat([encodePkt('version 2\n'), encodePkt('fetch=filter\n'), flushPkt]));
    expect(few.end().capabilities).toEqual(['fetch=filter']);
  });
});

/** How many bytes Buffer.concat put together until it is asked. */
function countCopies(): () => number {
  const { concat } = Buffer;
  let bytes = 0;
  Buffer.concat = (list: readonly Uint8Array[], length?: number) => {
    const all = concat(list, length);
    bytes += all.length;
    return all;
  };
  return () => {
    Buffer.concat = concat;
    return bytes;
  };
}
