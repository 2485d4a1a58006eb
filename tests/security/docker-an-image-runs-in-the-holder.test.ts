// The holder is made from the user's image. Code of the image that got into it, by LD_PRELOAD or /etc/ld.so.preload, could
// keep it alive after the launcher's death; so nothing of the image is loaded, whatever the image sets.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDockerLauncher } from '../../src/launch/docker.ts';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';

let dockerd: TestDockerd;

beforeAll(async () => {
  dockerd = await startDockerd();
  const library = join(dockerd.folder, 'planted.so');
  writeFileSync(`${library}.c`, 'int planted;');
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, `${library}.c`]);
  const copies = { '/planted.so': library, '/planted-too.so': library };
  await dockerd.importImage(
    'planted:1',
    { programs: ['cat'], copies, texts: { '/etc/ld.so.preload': '/planted-too.so\n' } },
    ['ENV LD_PRELOAD=/planted.so', 'ENV LD_LIBRARY_PATH=/', 'ENV SECRET=none'],
  );
});

afterAll(async () => {
  await dockerd?.stop();
});

// The user may have variables of the same names: a name without a value would hand theirs to the holder.
test.each([
  ['', {}],
  [', also where the user has what it names', { LD_PRELOAD: '/planted.so', SECRET: 'of-the-user' }],
] as const)('the holder maps nothing of the image%s', async (_case, own) => {
  // The same image, started without care.
  const careless = await dockerd.docker('run', '--rm', '--network', 'none', 'planted:1', 'cat', '/proc/self/maps');
  for (const library of ['/planted.so', '/planted-too.so']) expect(careless.stdout).toContain(library);

  const environment = { ...dockerd.environment, ...own };
  const prepared = await createDockerLauncher({ image: 'planted:1', environment }).prepare('piped');
  try {
    const children = readFileSync(`/proc/${prepared.pid}/task/${prepared.pid}/children`, 'utf8').trim().split(' ');
    expect(children).toHaveLength(1);
    const all = (file: string): string =>
      [prepared.pid, ...children].map((pid) => readFileSync(`/proc/${pid}/${file}`, 'utf8')).join('\n');
    expect(all('maps')).not.toContain('planted');
    expect(all('environ')).not.toContain('of-the-user');
    expect(readFileSync(`/proc/${children[0]}/maps`, 'utf8')).toMatch(/libc\.|ld-musl|\/cat/);
  } finally {
    await prepared.discard();
  }
});
