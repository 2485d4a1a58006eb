// Two connections become one: bytes both ways with back-pressure, each way ending by itself, and neither outliving the other. What
// does not move for too long ends: a client that neither reads nor goes away holds nothing for ever.
import type { Socket } from 'node:net';

export function joinSockets(one: Socket, other: Socket, idleTimeoutMs: number): void {
  const end = (): void => {
    clearTimeout(timer);
    one.destroy();
    other.destroy();
  };
  const timer = setTimeout(end, idleTimeoutMs);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.allowHalfOpen = true;
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      timer.refresh();
      from.resume();
    });
    from.on('end', () => to.end());
    from.on('error', end);
    from.on('close', () => {
      // What it said to the end may still be under way to the other side.
      if (from.readableEnded && from.writableFinished) return;
      end();
    });
    from.on('data', () => timer.refresh());
  }
  one.on('close', () => other.destroyed && clearTimeout(timer));
  other.on('close', () => one.destroyed && clearTimeout(timer));
  one.resume();
  other.resume();
}
