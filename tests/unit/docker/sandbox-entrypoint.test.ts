import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../support/compose-images.ts';
import { type ClientRun, runClient } from '../../support/run-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-entrypoint-'));
const certificate = join(folder, 'ca.pem');
/** What the door answers, one after another; the last one stays. */
let answers: string[] = [];
let asked: string[] = [];
let door: Server;
let proxy: string;

beforeAll(async () => {
  writeFileSync(certificate, 'a certificate\n');
  door = createServer((request, response) => {
    asked.push(request.url!);
    response.statusCode = 403;
    response.end(JSON.stringify({ error: 'no', code: answers.length > 1 ? answers.shift() : answers[0] }));
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  proxy = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
});

afterAll(() => {
  door.close();
  rmSync(folder, { recursive: true });
});

function begin(command: readonly string[], env: Record<string, string> = {}): Promise<ClientRun> {
  asked = [];
  return runClient(join(root, 'docker', 'sandbox-entrypoint'), command, {
    env: { SALLYPORT_WAIT_SECONDS: '1', SALLYPORT_CA: certificate, HTTPS_PROXY: proxy, HOME: folder, ...env },
  });
}

describe('the entrypoint of a sandbox', () => {
  test('becomes the command once the door knows the container', async () => {
    answers = ['sandbox.unknown', 'domain.not-allowed'];
    const run = await begin(['sh', '-c', 'echo "$1" $$; exit 7', 'sh', 'two words']);
    expect(run).toMatchObject({ code: 7, stderr: '' });
    expect(run.stdout).toMatch(/^two words \d+\n$/);
    expect(asked).toEqual(['http://sallyport-wait.invalid/', 'http://sallyport-wait.invalid/']);
  });

  test('says after its limit that there is no CA, and whom to ask', async () => {
    const run = await begin(['echo', 'started'], { SALLYPORT_CA: join(folder, 'none.pem') });
    expect(run).toMatchObject({ code: 69, stdout: '' });
    expect(run.stderr).toContain('waited 1 seconds (SALLYPORT_WAIT_SECONDS): the gateway has put no CA certificate at');
    expect(run.stderr).toContain('docker compose ps');
    expect(asked).toEqual([]);
  });

  test('an empty certificate is none', async () => {
    const empty = join(folder, 'empty.pem');
    writeFileSync(empty, '');
    expect((await begin(['echo'], { SALLYPORT_CA: empty })).stderr).toContain('no CA certificate');
  });

  const closed = ['sandbox.unknown', 'sandbox.unconfirmed', 'sandbox.expired', 'sandbox.proof-missing'];
  test.each(closed)('%s is not an open door', async (code) => {
    answers = [code];
    const run = await begin(['echo', 'started']);
    expect(run).toMatchObject({ code: 69, stdout: '' });
    expect(run.stderr).toContain('the gateway does not know this container');
    expect(run.stderr).toContain(code);
    expect(run.stderr).toContain('docker compose logs gateway says why');
    expect(run.stderr).toContain('sallyport register --container');
  });

  test.each(['shim.gateway', 'shim.identity'])('%s is not one either: the gateway was not asked', async (code) => {
    answers = [code];
    const run = await begin(['echo', 'started']);
    expect(run).toMatchObject({ code: 69, stdout: '' });
    expect(run.stderr).toContain('the shim does not lead to the gateway');
  });

  test('a door that is shut is told with its address', async () => {
    const run = await begin(['echo', 'started'], { HTTPS_PROXY: 'http://127.0.0.1:1' });
    expect(run).toMatchObject({ code: 69, stdout: '' });
    expect(run.stderr).toContain('the door at http://127.0.0.1:1 does not answer');
  });

  test('lays what the gateway has for agents into the home, private, and leaves alone what is there', async () => {
    answers = ['domain.not-allowed'];
    const home = join(folder, 'a home');
    const handed = join(folder, 'home');
    const lay = (path: string, text: string): void => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    lay(join(handed, '.codex', 'auth.json'), 'a placeholder');
    lay(join(handed, '.gemini', 'settings.json'), 'of the gateway');
    lay(join(handed, '.linked.json'), 'of the gateway');
    lay(join(home, '.gemini', 'settings.json'), 'of the user');
    symlinkSync('nowhere', join(home, '.linked.json'));
    try {
      expect(await begin(['true'], { HOME: home })).toMatchObject({ code: 0, stderr: '' });
      expect(readFileSync(join(home, '.codex', 'auth.json'), 'utf8')).toBe('a placeholder');
      expect(statSync(join(home, '.codex', 'auth.json')).mode & 0o777).toBe(0o600);
      expect(statSync(join(home, '.codex')).mode & 0o777).toBe(0o700);
      expect(readFileSync(join(home, '.gemini', 'settings.json'), 'utf8')).toBe('of the user');
      expect(existsSync(join(home, 'nowhere'))).toBe(false);
      // A home that cannot be written to is no reason not to start.
      expect(await begin(['true'], { HOME: '/proc/nowhere' })).toMatchObject({ code: 0, stderr: '' });
    } finally {
      rmSync(handed, { recursive: true });
    }
  });

  test('a limit that is no number, and no command, are errors', async () => {
    answers = ['domain.not-allowed'];
    expect((await begin(['true'], { SALLYPORT_WAIT_SECONDS: 'soon' })).stderr).toContain(
      'SALLYPORT_WAIT_SECONDS is "soon"',
    );
    expect((await begin([])).stderr).toContain('there is no command to run');
  });
});
