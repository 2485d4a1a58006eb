// Attack: one sandbox lets many requests with bodies hang, so that no room is left to repeat those of its neighbours when
// their credential has to be renewed.
import { expect, test } from 'vitest';
import { KeepingRoom, RetryBody } from '../../../../../src/stages/forward/relay/retry-body.ts';

const sink = { onDrain: null, write: () => true, flush: () => {}, end: () => {}, fail: () => {} };

function keep(room: KeepingRoom, sandbox: string, bytes: number): RetryBody {
  const body = new RetryBody(room.shareOf(sandbox));
  body.sendTo(sink);
  body.write(Buffer.alloc(bytes));
  return body;
}

test('a sandbox has a share, and its neighbour has another', () => {
  const room = new KeepingRoom(400);
  const greedy = Array.from({ length: 20 }, () => keep(room, 'greedy', 50));
  expect(greedy.filter((body) => body.isRepeatable)).toHaveLength(2);
  expect(keep(room, 'neighbour', 100).isRepeatable).toBe(true);
  // What is over is given back to the share it came from.
  for (const body of greedy) body.letGo();
  expect(keep(room, 'greedy', 100).isRepeatable).toBe(true);
  expect(keep(room, 'neighbour', 1).isRepeatable).toBe(false);
});
