import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { KeptUpstreams } from '../../../../../src/stages/forward/dial/kept-upstreams.ts';
import {
  type ConnectionOwner,
  H1Upstream,
  UpstreamPool,
} from '../../../../../src/stages/forward/dial/upstream-pool.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  writable = true;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  resume(): void {}
}

let sweeper: Sweeper;
let pool: UpstreamPool;
let kept: KeptUpstreams;

beforeEach(() => {
  sweeper = new Sweeper(60_000);
  sweeper.nowMs = 1_000;
  kept = new KeptUpstreams(300);
  pool = new UpstreamPool(sweeper, kept);
});

afterEach(() => sweeper.stop());

function connection(key: string): { upstream: H1Upstream; socket: FakeSocket } {
  const socket = new FakeSocket();
  const dialled = { socket: socket as unknown as Socket, protocol: 'http/1.1', address: '192.0.2.1:443' } as const;
  return { upstream: new H1Upstream(key, dialled, sweeper), socket };
}

const mine = 'sbx_1 h1 https://api.example:443';
const theirs = 'sbx_10 h1 https://api.example:443';

describe('a kept connection', () => {
  test('is given to the same sandbox, origin and protocol again, and to nobody else', () => {
    const { upstream } = connection(mine);
    pool.give(upstream, undefined);
    for (const key of [theirs, mine.replace('h1', 'h2'), mine.replace('443', '8443'), mine.replace('https', 'http')]) {
      expect(pool.take(key)).toBeNull();
    }
    expect(pool.take(mine)).toBe(upstream);
    expect(upstream.reused).toBe(true);
    expect(pool.take(mine)).toBeNull();
  });

  test('that was in use when all were dropped is not kept: it was dialled under settings that are gone', () => {
    const old = connection(mine);
    pool.drop(null);
    pool.give(old.upstream, undefined);
    expect(old.socket.destroyed).toBe(true);
    expect(pool.take(mine)).toBeNull();
  });

  test('that was closed meanwhile is not given', () => {
    const gone = connection(mine);
    const ended = connection(mine);
    pool.give(gone.upstream, undefined);
    pool.give(ended.upstream, undefined);
    gone.socket.destroyed = true;
    ended.socket.writable = false;
    expect(pool.take(mine)).toBeNull();
    expect(ended.socket.destroyed).toBe(true);
  });

  test('on which somebody speaks unasked is not used again', () => {
    const { upstream, socket } = connection(mine);
    pool.give(upstream, undefined);
    socket.emit('data', Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
    expect(socket.destroyed).toBe(true);
    expect(pool.take(mine)).toBeNull();
  });

  test('leaves nothing behind under its name when it is closed or expires', () => {
    const waiting = Array.from({ length: 50 }, (_, i) => connection(`sbx_1 h1 https://h${i}.example:443`));
    for (const { upstream } of waiting) pool.give(upstream, undefined);
    expect(pool.size).toBe(50);
    for (const { upstream } of waiting.slice(0, 25)) upstream.expire();
    for (const { socket } of waiting.slice(25)) socket.destroy();
    expect([pool.size, kept.size]).toEqual([0, 0]);
  });

  test('that is used is not among those that wait', () => {
    const { upstream } = connection(mine);
    pool.give(upstream, undefined);
    expect(kept.size).toBe(1);
    pool.take(mine);
    expect(kept.size).toBe(0);
  });

  test.each([
    [undefined, 4_000],
    ['timeout=10', 9_000],
    ['timeout=1', 0],
    ['timeout=0', -1],
    ['timeout=99999', 60_000],
    ['max=5', 4_000],
  ])('is kept as long as Keep-Alive %s allows', (keepAlive, ms) => {
    const { upstream } = connection(mine);
    pool.give(upstream, keepAlive);
    expect(upstream.deadlineMs - sweeper.nowMs).toBe(Math.max(0, ms));
    sweeper.nowMs += Math.max(0, ms);
    expect(pool.take(mine)).toBeNull();
  });

  test('is closed with its sandbox, and that of a sandbox whose name begins the same is not', () => {
    const ours = connection(mine);
    const other = connection(theirs);
    pool.give(ours.upstream, undefined);
    pool.give(other.upstream, undefined);
    pool.drop('sbx_1');
    expect([ours.socket.destroyed, other.socket.destroyed]).toEqual([true, false]);
    pool.drop(null);
    expect(other.socket.destroyed).toBe(true);
  });

  test('is not kept without end beside others', () => {
    const all = Array.from({ length: 300 }, () => connection(mine));
    for (const { upstream } of all) pool.give(upstream, undefined);
    expect(all.filter(({ socket }) => !socket.destroyed)).toHaveLength(256);
  });
});

describe('a connection in use', () => {
  test('tells its owner what comes, and once that it is over', () => {
    const { upstream, socket } = connection(mine);
    const heard: string[] = [];
    const owner: ConnectionOwner = {
      onUpstreamData: (chunk) => heard.push(`data ${chunk}`),
      onUpstreamDrain: () => heard.push('drain'),
      onUpstreamEnd: () => heard.push('end'),
      onUpstreamClosed: (error) => heard.push(`closed ${error?.message}`),
      onUpstreamExpired: () => heard.push('expired'),
    };
    upstream.owner = owner;
    socket.emit('data', Buffer.from('x'));
    socket.emit('drain');
    socket.emit('end');
    upstream.expire();
    socket.emit('error', new Error('reset'));
    socket.emit('close');
    socket.emit('close');
    expect(heard).toEqual(['data x', 'drain', 'end', 'expired', 'closed reset']);
  });
});
