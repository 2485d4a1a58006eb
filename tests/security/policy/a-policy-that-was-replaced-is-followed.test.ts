// A sandbox is kept from the configuration by a mount over it, which Linux takes away when the host puts another file in its
// place, as most editors do. What the sandbox then writes there must not come into force, now or with the next start.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { makeRunGround, type RunGround, type RunningCommand } from '../../support/run-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';

let upstream: FakeUpstream;
let ground: RunGround;
let config: string;
let policyOf: (host: string) => string;
const asked: string[] = [];
const started: RunningCommand[] = [];
/** As a user whose only configuration lies in the project. */
const env = { SALLYPORT_CONFIG: '' };

beforeAll(async () => {
  const ca = makeTestCa();
  const hosts = ['before.example', 'edited.example', 'stolen.example'];
  upstream = await startFakeUpstream(ca, hosts, (request, response) => {
    asked.push(String(request.headers.host ?? request.headers[':authority']));
    response.end('answer');
  });
  policyOf = (host) =>
    stringify({
      version: 1,
      listen: { proxy: '127.0.0.1:0' },
      allow: [{ host }],
      upstream: { ca: ca.path, resolve: Object.fromEntries(hosts.map((name) => [name, upstream.address])) },
    });
  ground = makeRunGround({});
  config = join(ground.projectOf('root'), 'sallyport.yaml');
});

afterAll(async () => {
  for (const running of started) running.kill('SIGKILL');
  await Promise.all(started.map(({ ended }) => ended));
  await upstream.close();
  ground.remove();
});

beforeEach(() => {
  writeFileSync(config, policyOf('before.example'));
  writeFileSync(join(ground.projectOf('root'), 'evil.yaml'), policyOf('stolen.example'));
});

const place = (name: string): string => join(ground.projectOf('root'), name);
const configured = (): string => readFileSync(config, 'utf8');

/** A sandbox that waits for the guard to fall, writes a policy of its own, and goes on when it is told to. */
async function startAttack(options: readonly string[], name: string): Promise<RunningCommand> {
  const script = [
    '{ cat evil.yaml > sallyport.yaml; } 2>/dev/null && echo UNGUARDED',
    `touch begun-${name}`,
    // For a moment the name still leads to the file that is being replaced: what is written there is gone with it.
    'until { cat evil.yaml > sallyport.yaml; } 2>/dev/null && cmp -s evil.yaml sallyport.yaml; do sleep 0.02; done',
    `until [ -e go-${name} ]; do sleep 0.02; done`,
    'for host in stolen edited before; do echo "$host: $(curl -sS https://$host.example/)"; done',
  ].join('\n');
  const running = ground.start('root', ['run', ...options, '--', 'sh', '-c', script], { env });
  started.push(running);
  await eventually(
    () => existsSync(place(`begun-${name}`)),
    () => `the sandbox begins: ${running.output()}`,
  );
  return running;
}

/** As an editor saves. */
async function saveByRename(attack: RunningCommand): Promise<void> {
  // Until now the guard held.
  expect(attack.output()).not.toContain('UNGUARDED');
  writeFileSync(place('saved'), policyOf('edited.example'));
  renameSync(place('saved'), config);
  await eventually(
    () => configured().includes('host: stolen.example'),
    () => `the sandbox writes what is unguarded now: ${attack.output()}\n${configured()}`,
  );
}

async function finish(running: RunningCommand, name: string): Promise<string> {
  writeFileSync(place(`go-${name}`), '');
  expect(await running.ended).toBe(0);
  const output = running.output();
  expect(output).not.toContain('UNGUARDED');
  expect(output).toMatch(/^stolen: .*"code":"domain.not-allowed"/m);
  expect(asked).not.toContain('stolen.example');
  return output;
}

describe('a configuration that is replaced while a sandbox can write where it lies', () => {
  test('is not followed by the run it belongs to, nor by the next, until its user approves it', async () => {
    const running = await startAttack(['--id', 'attacker'], 'own');
    await saveByRename(running);
    const log = join(ground.stateOf('root'), 'run.log');
    const looked = () => existsSync(log) && readFileSync(log, 'utf8').includes('is not followed');
    await eventually(looked, 'the gateway has looked');
    const output = await finish(running, 'own');
    expect(output).toContain('before: answer');
    expect(output).toContain('was replaced while sandbox attacker could write there: the sandbox may have written it');
    expect(output).toContain('sallyport config approve');

    const next = await ground.sallyport('root', ['run', '--', 'true'], { env });
    expect([next.code, next.stdout]).toEqual([2, '']);
    expect(next.stderr).toContain('was replaced while sandbox attacker');
    writeFileSync(config, policyOf('edited.example'));
    const approved = await ground.sallyport('root', ['config', 'approve'], { env });
    expect([approved.code, approved.stderr]).toEqual([0, '']);
    const after = await ground.sallyport('root', ['run', '--', 'curl', '-sS', 'https://edited.example/'], { env });
    expect(after.stdout).toBe('answer');
  });

  test('is not followed by a gateway that runs, though it is told to; what is written in place is, and what is approved', async () => {
    const up = ground.start('root', ['up'], { env });
    try {
      await eventually(
        () => up.output().includes('Sallyport is up'),
        () => `the gateway is up: ${up.output()}`,
      );
      const running = await startAttack(['--gateway', '--id', 'joined'], 'joined');
      writeFileSync(config, policyOf('edited.example'));
      await eventually(() => up.output().includes('has changed and is in force'), 'what the guard held is followed');
      await saveByRename(running);
      up.kill('SIGHUP');
      await eventually(() => up.output().includes('NOT taken over'), 'the gateway says no');
      expect(up.output()).toContain('was replaced while sandbox joined could write there');
      const output = await finish(running, 'joined');
      expect(output).toContain('edited: answer');
      up.kill('SIGHUP');
      await eventually(() => up.output().split('NOT taken over').length === 3, 'the gateway says no again');

      writeFileSync(config, policyOf('before.example'));
      expect((await ground.sallyport('root', ['config', 'approve', config], { env })).code).toBe(0);
      await eventually(() => up.output().split('has changed and is in force').length === 3, 'it is followed again');
    } finally {
      up.kill('SIGTERM');
      expect(await up.ended).toBe(0);
    }
  });
});
