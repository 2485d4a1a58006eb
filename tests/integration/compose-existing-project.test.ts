import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { baseImage, type ComposeGround, openComposeGround, places } from '../support/compose-ground.ts';
import { root } from '../support/compose-images.ts';
import { eventually } from '../support/eventually.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

let ground: ComposeGround;
let project: string;

/** Somebody's own project, which knows nothing of Sallyport: two services on the default network. */
const theirs = {
  services: {
    app: { image: baseImage, command: ['sleep', 'infinity'], user: '54321', tmpfs: ['/tmp'], volumes: ['.:/project'] },
    db: { image: baseImage, command: ['sleep', 'infinity'] },
  },
};

beforeAll(async () => {
  ground = await openComposeGround();
  project = join(ground.clone, 'theirs');
  // As the head of docker-compose.override.example.yml says.
  mkdirSync(join(project, 'sallyport'), { recursive: true });
  writeFileSync(join(project, 'docker-compose.yml'), stringify(theirs));
  cpSync(join(root, 'docker-compose.override.example.yml'), join(project, 'docker-compose.override.yml'));
  for (const name of ['sandbox.env', 'sandbox-entrypoint'])
    cpSync(join(root, 'docker', name), join(project, 'sallyport', name));
  cpSync(join(root, 'docker', 'compose.secrets.yml'), join(project, 'secrets.yml'));
  const up = await compose('up', '--detach');
  if (up.code !== 0) throw new Error(up.stderr);
}, 180_000);

afterAll(async () => {
  await ground?.stop();
}, 120_000);

function environment(): Record<string, string> {
  const files = ['docker-compose.yml', 'docker-compose.override.yml', 'secrets.yml'];
  return {
    ...ground.client.env,
    COMPOSE_FILE: files.join(':'),
    COMPOSE_PROJECT_NAME: 'theirs',
    SALLYPORT_CONFIG_DIR: join(ground.clone, 'policy'),
    SALLYPORT_SECRETS: join(ground.clone, 'secrets'),
  };
}

function compose(...args: string[]): Promise<ClientRun> {
  return runClient('docker-compose', args, { ...ground.client, cwd: project, env: environment() });
}

const inService = (service: string, script: string): Promise<ClientRun> =>
  ground.world.docker('exec', `theirs_${service}_1`, 'sh', '-c', script);

describe('docker-compose.override.example.yml on top of a project that knows nothing of it', () => {
  test('the service that it names works through the gateway, with the user and image that it had', async () => {
    const clone =
      'rm -rf /tmp/w; HOME=/tmp git clone -q https://github.com/acme/widgets /tmp/w && cat /tmp/w/README.md; id -u';
    const cloned = await eventually(
      async () => {
        const run = await inService('app', clone);
        return run.code === 0 && run.stdout.includes('read me') ? run : null;
      },
      'the service can clone',
      30_000,
    );
    expect(cloned.stdout).toBe('read me\n54321\n');
  }, 120_000);

  test('its services still find each other, and none has another way out', async () => {
    expect((await inService('app', 'getent hosts db')).stdout).toContain('db');
    for (const service of ['app', 'db']) {
      const direct = await inService(service, `curl -sk --noproxy '*' --max-time 4 https://${places.github}/; echo $?`);
      expect(direct.stdout, service).toMatch(/^(?:7|28)\n$/);
    }
    const unnamed = await inService('db', 'curl -s --proxy http://gateway:8080 http://api.github.com/user');
    expect(unnamed.stdout).toContain('"sandbox.unknown"');
  });

  test('it does not start before somebody has said where its configuration is', async () => {
    const env = { ...environment(), SALLYPORT_CONFIG_DIR: '' };
    const run = await runClient('docker-compose', ['config'], { ...ground.client, cwd: project, env });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('a folder outside the project') });
  });

  test('a service that has the project mounted does not have the configuration of the gateway in it', async () => {
    const found = await inService('app', 'find /project -type f');
    expect(found.stdout).toContain('/project/sallyport/sandbox.env');
    expect(found.stdout).not.toContain('sallyport.yaml');
  });
});
