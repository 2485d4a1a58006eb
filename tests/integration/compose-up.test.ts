import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  anthropicKey,
  type ComposeGround,
  githubToken,
  openComposeGround,
  writeConfig,
} from '../support/compose-ground.ts';
import { root } from '../support/compose-images.ts';
import { eventually } from '../support/eventually.ts';
import { runClient } from '../support/run-client.ts';

let ground: ComposeGround;

beforeAll(async () => {
  ground = await openComposeGround();
  await ground.up();
}, 180_000);

afterAll(async () => {
  await ground?.stop();
}, 120_000);

/** What an agent would do first: nothing was set up by hand in the sandbox. */
async function expectWorking(): Promise<void> {
  await ground.sandboxReady();
  const cloned = await ground.inSandbox(
    'rm -rf /tmp/w && git clone -q git@github.com:acme/widgets.git /tmp/w && cat /tmp/w/README.md',
  );
  expect(cloned).toEqual({ code: 0, stdout: 'read me\n', stderr: '' });
  const asked = await ground.inSandbox('curl -sS https://api.github.com/repos/acme/widgets');
  expect(asked.stdout).toContain('"full_name":"acme/widgets"');
  expect(asked.stdout + cloned.stderr).not.toContain(githubToken);
}

const fingerprint = async (): Promise<string> => (await ground.inSandbox('cat /etc/sallyport/ca.pem')).stdout;

describe('docker-compose up', () => {
  test('is all it takes: the sandbox is registered by its labels and works with real clients', async () => {
    await expectWorking();
    const listed = await ground.inGateway(['list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { repos: ['acme/widgets'], auth_mode: 'bot', allowed_branches: ['sandbox/*'] },
    ]);
  });

  test('a credential goes in by standard input, and comes out on requests alone', async () => {
    const before = await ground.inSandbox('curl -sS https://api.anthropic.com/v1/models');
    expect(before.stdout).toContain('"code":"credential.');
    const set = await ground.inGateway(['secret', 'set', 'anthropic'], anthropicKey);
    expect(set).toMatchObject({ code: 0, stdout: 'Set anthropic\n' });
    const after = await ground.inSandbox(
      'curl -sS -H "x-api-key: $ANTHROPIC_API_KEY" https://api.anthropic.com/v1/models',
    );
    expect(JSON.parse(after.stdout)).toMatchObject({ method: 'GET', url: '/v1/models' });
    expect(ground.provider.seen.at(-1)!.headers['x-api-key']).toBe(anthropicKey);
    expect(after.stdout).not.toContain(anthropicKey);
  });

  test("the plan's verification list holds", async () => {
    const words = ['--repo', 'acme/widgets', '--other', 'acme/other', '--pull', '2', '--push'];
    const run = await runClient(join(root, 'scripts', 'verify-compose'), words, ground.client);
    expect(run.stdout.match(/^✗.*$/gm) ?? []).toEqual([]);
    expect(run.stdout.match(/^✓/gm)).toHaveLength(8);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('with the credential anthropic');
    expect(ground.github.writes).toEqual([]);
  }, 120_000);

  test('a configuration that is replaced takes hold by itself', async () => {
    const check = () => ground.inGateway(['check', 'GET', 'https://new.example.com/']);
    expect((await check()).code).toBe(3);
    writeConfig(ground.clone, { allow: [{ preset: 'github' }, { preset: 'anthropic' }, { host: 'new.example.com' }] });
    await eventually(async () => (await check()).code === 0, 'the new configuration is in force');
  });

  test('a list that does not hold says so', async () => {
    const words = ['--repo', 'acme/other', '--other', 'acme/widgets', '--pull', '2'];
    const run = await runClient(join(root, 'scripts', 'verify-compose'), words, ground.client);
    expect(run.stdout.match(/^✗ \d/gm)).toEqual(['✗ 1', '✗ 2', '✗ 3']);
    expect(run).toMatchObject({ code: 1 });
  }, 120_000);
});

describe('without a manual step', () => {
  test('it works again after a restart of the gateway', async () => {
    const ca = await fingerprint();
    await ground.compose('restart', 'gateway');
    await ground.gatewayReady();
    await expectWorking();
    expect(await fingerprint()).toBe(ca);
  }, 120_000);

  test('after a restart of the sandbox', async () => {
    await ground.compose('restart', '-t', '1', 'sandbox');
    await expectWorking();
  }, 120_000);

  test('after a restart of the witness', async () => {
    await ground.compose('restart', '-t', '1', 'witness');
    await ground.compose('restart', '-t', '1', 'sandbox');
    await expectWorking();
  }, 120_000);

  test('after down and up, with the CA and the files it had', async () => {
    const ca = await fingerprint();
    await ground.inSandbox('touch /workspace/kept /home/sandbox/kept');
    const down = await ground.compose('down', '-t', '3');
    expect(down).toMatchObject({ code: 0 });
    await ground.up();
    await expectWorking();
    expect(await fingerprint()).toBe(ca);
    expect((await ground.inSandbox('ls /workspace/kept /home/sandbox/kept')).code).toBe(0);
  }, 90_000);
});

describe('docker/compose.transparent.yml', () => {
  test('programs that follow no proxy find allowed names at the gateway, and no others', async () => {
    const env = {
      ...ground.client.env,
      COMPOSE_FILE: `${ground.client.env!.COMPOSE_FILE}:docker/compose.transparent.yml`,
      SALLYPORT_RESOLVER: '172.30.0.9',
    };
    const up = await runClient('docker-compose', ['up', '--detach', '-t', '3'], { ...ground.client, env });
    expect(up).toMatchObject({ code: 0 });
    await ground.sandboxReady();
    const asked = await ground.inSandbox("curl -sS --noproxy '*' https://api.github.com/repos/acme/widgets");
    expect(asked.stdout).toContain('"full_name":"acme/widgets"');
    const looked = await ground.inSandbox('getent ahostsv4 api.github.com; getent hosts other.example; echo $?');
    expect(looked.stdout).toMatch(/^172\.30\.0\.9 .*\n/);
    expect(looked.stdout).not.toContain('other');
  }, 120_000);
});
