import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { PrivateSockets, type Taker } from '../../../../src/gateway/workers/private-sockets.ts';
import { eventually } from '../../../support/eventually.ts';

const directory = mkdtempSync(join(tmpdir(), 'sallyport-sockets-'));
const taken: [worker: string, socket: Socket][] = [];
let sockets: PrivateSockets | null = null;

afterEach(() => {
  for (const [, socket] of taken.splice(0)) socket.destroy();
  sockets?.closeAll();
});
afterAll(() => rmSync(directory, { recursive: true }));

const path = join(directory, 'one.sock');

test('a worker that takes none of what it was handed is handed no more', async () => {
  const worker = (name: string, handing: number): Taker => ({
    handing,
    take: (_id, socket) => taken.push([name, socket]),
  });
  const takers = [worker('stopped', 1), worker('first', 0), worker('second', 0)];
  sockets = new PrivateSockets(0o600, () => takers);
  await sockets.open('one', path);
  for (let i = 0; i < 4; i++) connect(path).on('error', () => {});
  await eventually(() => taken.length === 4, 'all were handed on');
  expect(taken.map(([name]) => name).sort()).toEqual(['first', 'first', 'second', 'second']);
});

test('without a worker a connection ends', async () => {
  sockets = new PrivateSockets(0o600, () => []);
  await sockets.open('one', path);
  const closed = new Promise((resolve) =>
    connect(path)
      .on('error', () => {})
      .on('close', resolve),
  );
  await closed;
});
