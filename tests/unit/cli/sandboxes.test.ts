import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

const run = (...argv: string[]) => runWith(argv, { home: gateway.home });

describe('sallyport register', () => {
  test('sends what was asked for in the spelling of the contract', async () => {
    const { code } = await run(
      ...[
        'register',
        '--id',
        'builder',
        '--ip',
        '172.18.0.5',
        '--container-id',
        'abc',
        '--repo',
        'o/r1',
        '--repo',
        'o/r2',
      ],
      ...['--mode', 'user', '--branch', 'bot/*', '--credential', 'github', '--proof', 'ip', '--proof', 'secret'],
      ...['--expires', '2027-01-15T00:00:00Z'],
    );
    expect(code).toBe(0);
    expect(gateway.ports.records.get('builder')).toEqual({
      id: 'builder',
      container_ip: '172.18.0.5',
      container_id: 'abc',
      repos: ['o/r1', 'o/r2'],
      auth_mode: 'user',
      allowed_branches: ['bot/*'],
      credentials: ['github'],
      proof: ['ip', 'secret'],
      expires_at: '2027-01-15T00:00:00Z',
    });
  });

  test('leaves out what was not asked for, so that the defaults of the gateway hold', async () => {
    await run('register', '--ip', '172.18.0.5');
    expect(Object.keys(gateway.ports.records.get('sbx_1') ?? {}).sort()).toEqual(
      ['container_ip', 'expires_at', 'id', 'repos'].sort(),
    );
  });

  test('prints the proxy with the proof in it, the CA for every runtime, and an example', async () => {
    const { out } = await run('register', '--ip', '172.18.0.5');
    const ca = `${gateway.home}/ca/ca.pem`;
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) {
      expect(out).toContain(`export ${name}=http://sbx_1:proof-of-sbx@127.0.0.1:8080\n`);
    }
    for (const name of [
      'CURL_CA_BUNDLE',
      'SSL_CERT_FILE',
      'NODE_EXTRA_CA_CERTS',
      'REQUESTS_CA_BUNDLE',
      'GIT_SSL_CAINFO',
    ]) {
      expect(out).toContain(`export ${name}=${ca}\n`);
    }
    expect(out).toContain('curl http://sallyport.internal/policy');
  });

  test('--env prints lines that a shell takes as they are, and nothing else', async () => {
    const { out } = await run('register', '--ip', '172.18.0.5', '--env');
    expect(
      out
        .trimEnd()
        .split('\n')
        .every((line) => line.startsWith('export ')),
    ).toBe(true);
    const seen = execFileSync('sh', ['-c', `${out}\nprintf %s "$HTTPS_PROXY"`], { encoding: 'utf8' });
    expect(seen).toBe('http://sbx_1:proof-of-sbx@127.0.0.1:8080');
  });

  test('--json gives the record, the grant and the environment', async () => {
    const { out } = await run('register', '--ip', '172.18.0.5', '--json');
    expect(JSON.parse(out)).toMatchObject({
      id: 'sbx_1',
      grant: { secret: 'proof-of-sbx' },
      environment: { HTTPS_PROXY: 'http://sbx_1:proof-of-sbx@127.0.0.1:8080' },
    });
  });

  test('a container by its name is enough, and one name for it is', async () => {
    await run('register', '--container', 'agent-1', '--network', 'sandboxes');
    expect(gateway.ports.records.get('sbx_1')).toMatchObject({ container_id: 'agent-1', network: 'sandboxes' });
    expect((await run('register', '--container', 'a', '--container-id', 'b')).code).toBe(2);
  });

  test('a key that is handed out once needs a place to go', async () => {
    const { code, err } = await run('register', '--proof', 'mtls');
    expect(code).toBe(2);
    expect(err).toContain('--identity DIR');
    expect(gateway.ports.records.size).toBe(0);
  });

  test('a key that has its place is shown nowhere else, and a place without a key is a mistake', async () => {
    const folder = join(gateway.home, 'identity');
    const { out } = await run('register', '--proof', 'mtls', '--identity', folder, '--json');
    expect(readFileSync(join(folder, 'key.pem'), 'utf8')).toBe('its key');
    expect(out).not.toContain('its key');
    expect(JSON.parse((await run('register', '--proof', 'mtls', '--json')).out)).toMatchObject({
      grant: { identity: { key: 'its key' } },
    });
    gateway.ports.records.clear();
    const forgotten = await run('register', '--identity', folder);
    expect([forgotten.code, gateway.ports.records.size]).toEqual([2, 0]);
    expect(forgotten.err).toContain('--proof mtls');
  });

  test('a key that could not be kept leaves no registration behind', async () => {
    const folder = join(gateway.home, 'crowded');
    mkdirSync(join(folder, 'key.pem', 'in-the-way'), { recursive: true, mode: 0o700 });
    const { code } = await run('register', '--proof', 'mtls', '--identity', folder);
    expect([code, gateway.ports.records.size]).toEqual([1, 0]);
  });

  test('an address in use is a failure (1), a wrong choice is wrong usage (2)', async () => {
    await run('register', '--ip', '172.18.0.5');
    const taken = await run('register', '--ip', '172.18.0.5', '--id', 'second');
    expect([taken.code, taken.err]).toEqual([1, 'sallyport: the address is in use\n']);
    expect((await run('register', '--mode', 'admin')).code).toBe(2);
  });
});

describe('sallyport list, renew and unregister', () => {
  test('list shows columns, or JSON', async () => {
    gateway.ports.records.set('a', {
      id: 'a',
      container: { name: 'agent-1', network: 'sandboxes', mac: null },
      container_ip: '172.18.0.5',
      proof: ['ip'],
      repos: ['o/r'],
      credentials: null,
      spent: { period: 'day', until: '2026-11-17T00:00:00.000Z', tokens: 3400, dollars: 0.1234 },
    });
    const { out } = await run('list');
    expect(out).toMatch(/^ID +CONTAINER +ADDRESS +PROOF/);
    expect(out).toMatch(/^a +agent-1 +172\.18\.0\.5 +ip +- +- +\$0\.12, 3400 tokens +all +o\/r$/m);
    expect(JSON.parse((await run('list', '--json')).out)).toMatchObject([{ id: 'a' }]);
    expect(JSON.parse((await run('--json', 'list')).out)).toMatchObject([{ id: 'a' }]);
  });

  test('an empty list is empty data and a hint beside it', async () => {
    const { code, out, err } = await run('list');
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain('sallyport register');
    expect((await run('list', '--json')).out).toBe('[]\n');
  });

  test('renew and unregister do what they say; an unknown sandbox is a failure with a hint', async () => {
    gateway.ports.records.set('a', { id: 'a', expires_at: '2027-01-15T00:00:00.000Z' });
    expect((await run('renew', 'a')).out).toContain('Renewed a until 2027-01-15T00:00:00.000Z');
    expect((await run('unregister', 'a')).out).toBe('Unregistered a\n');
    const again = await run('unregister', 'a');
    expect([again.code, again.err]).toEqual([
      1,
      'sallyport: no sandbox is registered as a\nSee which there are: sallyport list\n',
    ]);
  });

  test('unregister names the gateways that have not confirmed it', async () => {
    gateway.ports.records.set('a', { id: 'a' }).set('b', { id: 'b' });
    gateway.ports.unconfirmed = ['gateway-b'];
    const told = await run('unregister', 'a');
    expect([told.code, told.out]).toEqual([0, 'Unregistered a\n']);
    expect(told.err).toContain('Not confirmed by: gateway-b.');
    expect(JSON.parse((await run('unregister', 'b', '--json')).out)).toEqual({
      unregistered: 'b',
      unconfirmed: ['gateway-b'],
    });
    gateway.ports.unconfirmed = [];
  });

  test('without a gateway every command ends with 4 and says how to start one', async () => {
    for (const argv of [
      ['list'],
      ['register'],
      ['unregister', 'a'],
      ['renew', 'a'],
      ['logs', '-f'],
      ['secret', 'list'],
    ]) {
      const { code, out, err } = await runWith(argv);
      expect([argv, code, out]).toEqual([argv, 4, '']);
      expect(err).toContain('A run brings its own: sallyport run -- COMMAND. One that stays: sallyport up');
    }
  });
});
