// The docker command line puts the proxy of its own configuration, with the login in its address, into every container; and
// a variable that is named without a value is taken from the launcher's own environment. Neither reaches a sandbox.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDockerLauncher } from '../../../src/sandbox/docker/docker.ts';
import { startDockerd, type TestDockerd } from '../../support/dockerd.ts';

let dockerd: TestDockerd;
const login = 'http://user:hunter2@proxy.example:3128';

beforeAll(async () => {
  dockerd = await startDockerd();
  await dockerd.importImage('tools:1', { programs: ['env'] });
  mkdirSync(join(dockerd.environment.HOME!, '.docker'));
  const proxies = { default: { httpProxy: login, httpsProxy: login, noProxy: 'inside.example' } };
  writeFileSync(join(dockerd.environment.HOME!, '.docker', 'config.json'), JSON.stringify({ proxies }));
});

afterAll(async () => {
  await dockerd?.stop();
});

test('a sandbox gets its own environment and no proxy of the host', async () => {
  // What the configuration does to a container that is started without care.
  expect((await dockerd.docker('run', '--rm', '--network', 'none', 'tools:1', 'env')).stdout).toContain('hunter2');

  const environment = { ...dockerd.environment, HTTPS_PROXY: login, all_proxy: login, A_TOKEN: 'hunter2' };
  const prepared = await createDockerLauncher({ image: 'tools:1', environment }).prepare('piped');
  const variables = { HOME: '/root', no_proxy: 'of the plan' };
  const plan = { id: 'one', command: ['env'], workingDirectory: '/', environment: variables, mounts: [] };
  const running = await prepared.start(plan);
  running.streams!.stdin.end();
  const lines = (await text(running.streams!.stdout)).trim().split('\n');
  expect(await running.ended).toBe(0);
  expect(lines.filter((line) => !line.startsWith('PATH=')).sort()).toEqual([
    'HOME=/root',
    'HOSTNAME=sallyport',
    'no_proxy=of the plan',
  ]);
});
