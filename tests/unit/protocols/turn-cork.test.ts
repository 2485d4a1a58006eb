// What leaves together and what is never held: large pieces of one turn are one write, an event of a stream is its own.
import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { holdMuchUnsent, TurnCork } from '../../../src/protocols/turn-cork.ts';

const large = Buffer.alloc(16 * 1024);
const small = Buffer.from('data: one event\n\n');

class Sink extends Writable {
  readonly writes: number[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(chunk.length);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.writes.push(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0));
    done();
  }
}

function writeAll(sink: Sink, pieces: readonly Buffer[]): void {
  const turn = new TurnCork(sink);
  for (const piece of pieces) {
    turn.before(piece);
    sink.write(piece);
  }
}

test('large pieces of one turn are one write', async () => {
  const sink = new Sink();
  writeAll(sink, [large, large, large]);
  expect(sink.writes).toEqual([]);
  await nextTurn();
  expect(sink.writes).toEqual([3 * large.length]);
});

test('pieces of two turns are two writes', async () => {
  const sink = new Sink();
  const turn = new TurnCork(sink);
  for (let i = 0; i < 2; i++) {
    turn.before(large);
    sink.write(large);
    await nextTurn();
  }
  expect(sink.writes).toEqual([large.length, large.length]);
});

test('small pieces go at once, each by itself', () => {
  const sink = new Sink();
  writeAll(sink, [small, small]);
  expect(sink.writes).toEqual([small.length, small.length]);
});

test('a stream takes several frames before its source is asked to stop', () => {
  const stuck = new Writable({ highWaterMark: 16 * 1024, write: () => {} });
  holdMuchUnsent(stuck);
  const answers = Array.from({ length: 4 }, () => stuck.write(large));
  expect(answers).toEqual([true, true, true, false]);
});
