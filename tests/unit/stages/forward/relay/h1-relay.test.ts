import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import type { BodyWriter, Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../../src/path/exchange/outgoing-request.ts';
import { granted } from '../../../../../src/path/stamps/granted.ts';
import { KeptUpstreams } from '../../../../../src/stages/forward/dial/kept-upstreams.ts';
import { H1Upstream, UpstreamPool } from '../../../../../src/stages/forward/dial/upstream-pool.ts';
import { relayH1 } from '../../../../../src/stages/forward/relay/h1-relay.ts';
import type { Wrapped } from '../../../../../src/stages/forward/relay/relay-settings.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';

class PretendSocket extends EventEmitter {
  destroyed = false;
  writable = true;
  readonly written: string[] = [];
  write(chunk: string | Buffer): boolean {
    this.written.push(chunk.toString('latin1'));
    return true;
  }
  cork(): void {}
  uncork(): void {}
  pause(): void {}
  resume(): void {}
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const sweeper = new Sweeper();
afterEach(() => sweeper.sweep());

function flowOver(taken: string[]): Wrapped {
  const writer: BodyWriter = {
    onDrain: null,
    write: (chunk) => taken.push(chunk.toString()) > 0,
    flush: () => {},
    end: () => {},
    fail: () => {},
  };
  const exchange = { form: 'wire', requestFraming: { kind: 'none' }, respond: () => writer } as unknown as Exchange;
  return {
    ...acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example.com/')),
    exchange,
    wrapped: exchange,
    sandbox: sandboxWith(),
    permission: granted({
      rule: 'allow[0]',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
    }),
    outgoing: new OutgoingRequest('/', new HeaderList()),
    injected: null,
  };
}

async function askOver(answer: string): Promise<{ pool: UpstreamPool; taken: string[]; socket: PretendSocket }> {
  const pool = new UpstreamPool(sweeper, new KeptUpstreams());
  const socket = new PretendSocket();
  const dialled = { socket: socket as unknown as Socket, protocol: 'http/1.1' as const, address: '192.0.2.1:443' };
  const upstream = new H1Upstream('key', dialled, sweeper);
  const watch = { answered: () => {}, unanswered: () => {} };
  const settings = { sweeper, headBytes: 65_536, headersTimeoutMs: 1000, idleTimeoutMs: 1000, watch };
  const taken: string[] = [];
  const done = relayH1(upstream, flowOver(taken), pool, settings);
  socket.emit('data', Buffer.from(answer));
  await done;
  return { pool, taken, socket };
}

describe('a connection that has answered', () => {
  test('is kept for as long as its Keep-Alive field says, though the field itself does not travel', async () => {
    const { pool, taken } = await askOver('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=30\r\nContent-Length: 2\r\n\r\nok');
    expect(taken).toEqual(['ok']);
    sweeper.nowMs += 10_000;
    expect(pool.take('key')).not.toBeNull();
  });

  test('is not used again after a few seconds when it did not say', async () => {
    const { pool } = await askOver('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    sweeper.nowMs += 10_000;
    expect(pool.take('key')).toBeNull();
  });

  test('and said more than it was asked is closed', async () => {
    const { pool, taken, socket } = await askOver('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n');
    expect(taken).toEqual(['ok']);
    expect(socket.destroyed).toBe(true);
    expect(pool.take('key')).toBeNull();
  });
});
