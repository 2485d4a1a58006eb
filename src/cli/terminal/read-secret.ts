// Reads one secret from standard input: from a pipe as it is, from a terminal without showing it. The value goes back
// to the caller and nowhere else: not into an error, not onto the screen.

import type { Input } from '../cli-context.ts';
import { CommandFailed, exitCode } from './exit-code.ts';

const maxBytes = 64 * 1024;

export async function readSecret(stdin: Input, prompt: () => void): Promise<string> {
  const text = stdin.isTTY === true ? await readHidden(stdin, prompt) : await readPipe(stdin);
  const value = text.replace(/\r?\n$/, '');
  if (value === '') {
    throw new CommandFailed(
      exitCode.usage,
      'no value came on standard input',
      'For example: sallyport secret set NAME < file',
    );
  }
  return value;
}

async function readPipe(stdin: Input): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    const part = Buffer.from(chunk as Buffer);
    bytes += part.length;
    if (bytes > maxBytes) throw new CommandFailed(exitCode.usage, `the value is larger than ${maxBytes} bytes`);
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Raw mode: the terminal echoes nothing, and the keys that edit a line are ours to honour. */
function readHidden(stdin: Input, prompt: () => void): Promise<string> {
  prompt();
  stdin.setRawMode?.(true);
  return new Promise((resolve, reject) => {
    let typed = '';
    const done = (finish: () => void): void => {
      stdin.removeListener('data', onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      finish();
    };
    const onData = (chunk: Buffer | string): void => {
      for (const key of chunk.toString('utf8')) {
        if (key === '\r' || key === '\n' || key === '\u0004') {
          done(() => resolve(typed));
          return;
        }
        if (key === '\u0003') {
          done(() => reject(new CommandFailed(exitCode.failure, 'cancelled: nothing was set')));
          return;
        }
        if (key === '\u007f' || key === '\b') typed = typed.slice(0, -1);
        else if (key === '\u0015') typed = '';
        else typed += key;
      }
    };
    stdin.on('data', onData);
    stdin.resume();
  });
}
