import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { H1Connection } from '../../../../../src/stages/accept/http/h1-connection.ts';

class SlowlyReadSocket extends EventEmitter {
  writableNeedDrain = false;
  flushed: () => void = () => {};
  write(_bytes?: Buffer | string): boolean {
    return true;
  }
  end(whenFlushed: () => void): void {
    this.flushed = whenFlushed;
  }
  pause(): void {}
  resume(): void {}
  destroy(): void {}
}

const settingsWith = (sweeper: Sweeper) => ({
  sweeper,
  headBytes: 65_536,
  requestBodyBytes: 0,
  clientHeadTimeoutMs: 30_000,
  idleTimeoutMs: 600_000,
  carriesCredential: () => false,
});
const origin = { scheme: 'https' as const, connect: 'api.example:443', sni: 'api.example', destination: null };

describe('a connection that ends after its answer', () => {
  test('waits for a slow reader to take the answer before it counts the last moment', () => {
    const sweeper = new Sweeper();
    const socket = new SlowlyReadSocket();
    const settings = settingsWith(sweeper);
    const connection = new H1Connection(socket as unknown as Socket, origin, settings, (_request, exchange) =>
      exchange.answer(200, new HeaderList(), Buffer.alloc(1 << 20)),
    );
    socket.emit('data', Buffer.from('GET / HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n'));
    expect(connection.deadlineMs).toBe(sweeper.deadlineIn(600_000));
    socket.flushed();
    expect(connection.deadlineMs - sweeper.nowMs).toBeCloseTo(2_000, 3);
    sweeper.stop();
  });

  test('does so where the answer says it, and says it once', () => {
    const sweeper = new Sweeper();
    const socket = new SlowlyReadSocket();
    const written: string[] = [];
    socket.write = (bytes?: Buffer | string) => written.push(String(bytes)) > 0;
    let answered = 0;
    new H1Connection(socket as unknown as Socket, origin, settingsWith(sweeper), (_request, exchange) => {
      answered++;
      exchange.answer(429, HeaderList.from([['Connection', 'close']]), Buffer.alloc(0));
    });
    const request = 'GET / HTTP/1.1\r\nHost: api.example\r\n\r\n';
    socket.emit('data', Buffer.from(request + request));
    socket.emit('data', Buffer.from(request));
    expect([answered, written.join('').match(/connection: close/gi)]).toEqual([1, ['Connection: close']]);
    sweeper.stop();
  });
});
