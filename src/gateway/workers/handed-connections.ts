// Connections that node:cluster has handed to a worker and that the worker has not taken yet. Node forgets them when the worker
// dies: their clients would wait for ever, and the gateway would keep a descriptor for each. Goes by what node:cluster says
// between its processes, which is not documented: where it says something else, nothing is closed here.
import type { Worker } from 'node:cluster';

interface Closable {
  close(): void;
}

/** From the beginning of a worker on. They are closed when it has ended. */
export function closeUntaken({ process }: Worker): void {
  // Without a file descriptor to be had it has none, and nothing is handed to it.
  if (!process.connected) return;
  const untaken = new Map<number, Closable>();
  const send = process.send.bind(process) as (...args: unknown[]) => boolean;
  process.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    const { cmd, act, seq } = message as { cmd?: unknown; act?: unknown; seq?: unknown };
    if (cmd === 'NODE_CLUSTER' && act === 'newconn' && typeof seq === 'number' && isClosable(handle)) {
      untaken.set(seq, handle);
    }
    return send(message, handle, ...rest);
  };
  process.on('internalMessage', ({ ack }: { ack?: unknown }) => untaken.delete(Number(ack)));
  // After one more look at the channel: its last words may lie there. With a connection on its way Node tells of no disconnect.
  process.once('exit', () =>
    setImmediate(() => {
      for (const handle of untaken.values()) handle.close();
      untaken.clear();
    }),
  );
}

function isClosable(handle: unknown): handle is Closable {
  return typeof (handle as Partial<Closable> | undefined)?.close === 'function';
}
