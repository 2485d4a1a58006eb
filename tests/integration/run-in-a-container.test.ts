import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeRunGround, type RunGround } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const key = 'sk-real-0123456789abcdef';
let dockerd: TestDockerd;
let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.example.com'], (_request, response) => response.end('an answer\n'));
  ground = makeRunGround({
    allow: [{ host: 'api.example.com' }],
    credentials: {
      example: {
        hosts: ['api.example.com'],
        inject: { header: 'x-api-key' },
        source: { env: 'EXAMPLE_KEY', i_accept_environment: true },
      },
    },
    upstream: { ca: ca.path, resolve: { 'api.example.com': upstream.address } },
  });
  dockerd = await startDockerd();
  await dockerd.importImage('tools:1', { programs: ['sh', 'curl', 'cat', 'ls', 'env', 'id', 'getent'] });
}, 120_000);

afterAll(async () => {
  await dockerd?.stop();
  await upstream.close();
  ground.remove();
});

describe('sallyport run --image', () => {
  const run = (script: string, image = 'tools:1') =>
    ground.sallyport('root', ['run', '--image', image, '--', 'sh', '-c', script], {
      env: { EXAMPLE_KEY: key, DOCKER_HOST: dockerd.environment.DOCKER_HOST! },
    });

  test('the first request goes through the door, with a key that is not in the container', async () => {
    upstream.seen.length = 0;
    const { code, stdout, stderr } = await run(
      'curl -sS https://api.example.com/v1; env; id -u; echo x > made; exit 9',
    );
    expect(stderr).toBe('');
    expect(stdout).toContain('an answer');
    expect(stdout).not.toContain(key);
    expect(code).toBe(9);
    expect(upstream.seen.map(({ headers }) => headers['x-api-key'])).toEqual([key]);
    expect(readFileSync(join(ground.projectOf('root'), 'made'), 'utf8')).toBe('x\n');
    expect(await dockerd.containers()).toEqual([]);
  });

  test('an address, another name and another port lead nowhere, each in words or at once', async () => {
    const { stdout } = await run(
      'curl -sS https://203.0.113.7/; curl -sS -m 5 https://other.example/ 2>&1; curl -sS -m 5 http://203.0.113.7:25/ 2>&1',
    );
    expect(stdout).toContain('is an address: use the name of the host');
    expect(stdout).toContain('"code":"domain.not-allowed"');
    expect(stdout).toContain("Couldn't connect to server");
  });

  test('an image that is not there is said to be missing, and nothing is fetched', async () => {
    const { code, stderr } = await run('true', 'no-such-image:1');
    expect(code).toBe(125);
    expect(stderr).toContain('no-such-image:1');
  });
});
