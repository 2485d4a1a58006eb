// What a command has written is handed on to its end, also when a process that it left behind keeps the pipe open: once the
// command has ended and its reader has taken everything, nothing more is waited for.
import { PassThrough, type Readable } from 'node:stream';

const quietMs = 100;

export function drainedAfter(
  from: Readable,
  exited: Promise<unknown>,
): { readonly stream: Readable; readonly ended: Promise<void> } {
  const stream = new PassThrough();
  let bytes = 0;
  let isOver = false;
  const ended = new Promise<void>((resolve) => {
    const finish = (): void => {
      if (isOver) return;
      isOver = true;
      from.destroy();
      stream.end();
      resolve();
    };
    from.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (!stream.write(chunk)) from.pause();
    });
    stream.on('drain', () => from.resume());
    from.on('end', finish);
    from.on('close', finish);
    // The end of a terminal is an error to who reads its other side.
    from.on('error', finish);
    stream.on('close', finish);
    const watch = async (): Promise<void> => {
      await exited;
      let before = -1;
      while (!isOver) {
        if (bytes === before && stream.readableLength === 0 && stream.writableLength === 0) return finish();
        before = bytes;
        await new Promise((again) => setTimeout(again, quietMs));
        // After a stall the timer comes first: what has arrived meanwhile is still to be read.
        await new Promise((again) => setImmediate(() => setImmediate(again)));
      }
    };
    void watch().catch(finish);
  });
  return { stream, ended };
}
