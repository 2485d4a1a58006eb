// Must not happen: a container that no launcher of ours started is removed as a leftover, because its image has our label.
// An image made by `docker commit` of a sandbox has it, and one that somebody else wrote may.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanDockerLeftovers } from '../../../src/sandbox/docker/docker-leftovers.ts';
import { findInDocker } from '../../../src/sandbox/uninstall/uninstall-docker.ts';
import { startDockerd, type TestDockerd } from '../../support/dockerd.ts';

const longGone = 'sallyport.launcher=another-boot/1/1/1';
const leftover = 'sallyport-0123456789abcdef';
let dockerd: TestDockerd;

async function must(...words: string[]): Promise<void> {
  const run = await dockerd.docker(...words);
  if (run.code !== 0) throw new Error(run.stderr);
}

beforeAll(async () => {
  dockerd = await startDockerd();
  await dockerd.importImage('saved:1', { programs: ['sleep'] }, [`LABEL ${longGone}`]);
  // As if built on one of ours.
  await dockerd.importImage('built-on-ours:1', { programs: ['sleep'] }, ['LABEL sallyport-managed=true']);
  await dockerd.importImage('sallyport-gateway:1', { programs: ['sleep'] }, ['LABEL sallyport-managed=true']);
  await dockerd.importImage('plain:1', { programs: ['sleep'] });
  await must('run', '--detach', '--network', 'none', '--name', 'of-the-user', 'saved:1', 'sleep', '600');
  const managed = ['--label', 'sallyport-managed=true'];
  for (const [name, ...words] of [
    ['theirs', 'built-on-ours:1'],
    ['ours', 'sallyport-gateway:1'],
    ['ours-too', ...managed, 'plain:1'],
  ] as const) {
    await must('create', '--network', 'none', '--name', name, ...words, 'sleep', '600');
  }
  for (const name of [leftover, `${leftover}-command`]) {
    await must('create', '--network', 'none', '--name', name, '--label', longGone, 'plain:1', 'sleep', '600');
  }
});

afterAll(() => dockerd?.stop());

test('uninstalling removes what a launcher named, and what was labelled for itself', async () => {
  const { removable, kept } = await findInDocker({ environment: dockerd.environment });
  const containers = (list: readonly { readonly what: string }[]): string[] =>
    list.flatMap(({ what }) => (what.startsWith('container ') ? [what.slice('container '.length)] : [])).sort();
  expect(containers(removable)).toEqual(['ours', 'ours-too', leftover, `${leftover}-command`]);
  expect(containers(kept)).toEqual(['of-the-user', 'theirs']);
});

test('a start of the launcher removes only what a launcher named', async () => {
  const removed = await cleanDockerLeftovers({ environment: dockerd.environment });
  expect(removed.toSorted()).toEqual([leftover, `${leftover}-command`]);
  const left = (await dockerd.containers()).map((line) => line.split(' ')[0]);
  expect(left.toSorted()).toEqual(['of-the-user', 'ours', 'ours-too', 'theirs']);
});
