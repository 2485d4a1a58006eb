import { afterEach, expect, test } from 'vitest';
import { forkWorker } from '../../../../src/gateway/workers/fork-worker.ts';

const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
});

test('a worker that the system does not start has ended, with the reason: its place can be filled', async () => {
  // As without file descriptors: the process is never there, so it never exits.
  process.execPath = '/nonexistent/node';
  const life = forkWorker({ entry: 'nowhere', env: {} });
  expect(await life.ended).toBe('could not be made (ENOENT)');
  await expect(life.ready).rejects.toThrow('could not be made (ENOENT) before it served');
  expect(life.channel.isClosed).toBe(true);
});
