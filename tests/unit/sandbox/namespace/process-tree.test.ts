import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { childrenOf, firstChildOf, innermostPid } from '../../../../src/sandbox/namespace/process-tree.ts';

test('the children of a process are found, the first of them first, and none of one that is gone', async () => {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; sleep 60 & echo $!; wait'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  for await (const part of parent.stdout) {
    text += part;
    if (text.split('\n').length > 2) break;
  }
  const [first, second] = text.trim().split('\n').map(Number);
  expect([...childrenOf(parent.pid!)].sort((a, b) => a - b)).toEqual([first, second]);
  expect(firstChildOf(parent.pid!)).toBe(first);
  expect(innermostPid(first!)).toBe(first);
  for (const pid of [first!, second!]) process.kill(pid);
  await once(parent, 'exit');
  expect(childrenOf(parent.pid!)).toEqual([]);
  expect(firstChildOf(parent.pid!)).toBeNull();
  expect(innermostPid(parent.pid!)).toBeNull();
});
