// Real clients against a real TLS server whose certificate comes from the sandbox's CA: what we bind and set makes each of
// them believe it, and believe no other CA besides. Everything stays on loopback.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareTrust, type Trust } from '../../src/sandbox/trust/prepare-trust.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { answer, compileClients, type TrustClient, trustClients } from './trust-clients.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-trust-'));
const work = join(folder, 'work');
const bwrap = ['--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run'];
const own = ['--tmpfs', '/tmp', '--dir', '/tmp/home', '--chdir', '/tmp/home'];
const base = {
  PATH: process.env.PATH ?? '',
  HOME: '/tmp/home',
  LANG: 'C.UTF-8',
  // cargo may be rustup's, which looks for itself in the home.
  RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(homedir(), '.rustup'),
};

const present = trustClients.filter(isThere);
for (const { name } of trustClients.filter((client) => !present.includes(client)))
  console.warn(`NOT TESTED: ${name} is not on this machine, so nothing is known here about what it trusts`);

interface Place {
  readonly origin: string;
  readonly hostPort: string;
  readonly seen: string[];
  readonly server: Server;
}
let ours: Place;
let foreign: Place;
let host: Trust;
let image: Trust;

beforeAll(async () => {
  await compileClients(work, (name) => present.some((client) => client.name === name));
  const ca = makeTestCa();
  const caPem = readFileSync(ca.path, 'utf8');
  ours = await serve(ca.issue(['localhost']));
  foreign = await serve(makeTestCa().issue(['localhost']));
  const inside = '/run/sallyport/trust';
  host = prepareTrust({ folder: join(folder, 'host'), caPem, flavour: 'host', inside });
  image = prepareTrust({ folder: join(folder, 'image'), caPem, flavour: 'image', inside });
});
afterAll(() => {
  for (const place of [ours, foreign]) {
    place.server.closeAllConnections();
    place.server.close();
  }
  rmSync(folder, { recursive: true });
});

describe.concurrent('a client in a sandbox believes its CA', { timeout: 90_000 }, () => {
  test.each(present)('$name, with what we bind and set', async (client) => {
    await expectPong(client, ours, host, host.variables);
  });

  test.each(present.filter(({ ownRoots }) => !ownRoots))('$name, with no variable at all', async (client) => {
    await expectPong(client, ours, host, {});
  });
});

describe.concurrent('a client in a sandbox believes no CA that we did not name', { timeout: 90_000 }, () => {
  test.each(present)('$name refuses the certificate and sends nothing', async (client) => {
    const run = await ask(client, foreign, host, host.variables);
    expect(run.code, run.stdout + run.stderr).not.toBe(0);
    expect(run.stdout + run.stderr).toMatch(/certificate|cert |PKIX|SSL/i);
    expect(foreign.seen).toEqual([]);
  });
});

describe.concurrent("a client in an image without certificates believes the sandbox's CA", { timeout: 90_000 }, () => {
  const plain = ['curl', 'wget', 'git', 'openssl s_client', 'Python urllib', 'Go', 'Ruby net/http', 'PHP'];
  test.each(present.filter(({ name }) => plain.includes(name)))('$name, with no variable at all', async (client) => {
    await expectPong(client, ours, image, {}, emptyEtc());
  });

  // Java's own store may lie anywhere in an image.
  test.each(present.filter(({ name }) => name === 'Java'))('$name, by its variable', async (client) => {
    await expectPong(client, ours, image, image.variables, emptyEtc());
  });
});

async function expectPong(
  client: TrustClient,
  place: Place,
  trust: Trust,
  variables: Trust['variables'],
  system: readonly string[] = [],
): Promise<void> {
  const before = place.seen.length;
  const run = await ask(client, place, trust, variables, system);
  expect(run.stdout, run.stderr).toContain(client.prints ?? 'pong');
  expect(run.code).toBe(0);
  expect(place.seen.length).toBeGreaterThan(before);
}

function ask(
  client: TrustClient,
  place: Place,
  trust: Trust,
  variables: Trust['variables'],
  system: readonly string[] = [],
): Promise<ClientRun> {
  const mounts = trust.mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]);
  const environment = Object.entries({ ...base, ...variables }).flatMap(([name, value]) => ['--setenv', name, value]);
  const args = [
    ...bwrap,
    ...own,
    '--ro-bind',
    work,
    '/tmp/work',
    ...system,
    ...mounts,
    '--clearenv',
    ...environment,
    ...client.command({ ...place, work: '/tmp/work' }),
  ];
  // Some of them need seconds to start on a machine that is busy with other tests.
  return runClient('bwrap', args, { timeoutMs: 60_000 });
}

/** /etc as an image without the package of certificates has it, with what the clients need to run at all. */
function emptyEtc(): string[] {
  const kept = ['hosts', 'passwd', 'group', 'nsswitch.conf', 'alternatives', 'ld.so.cache', 'java-17-openjdk', 'php'];
  const there = kept.map((name) => `/etc/${name}`).filter((path) => existsSync(path));
  return ['--tmpfs', '/etc', ...there.flatMap((path) => ['--ro-bind', path, path])];
}

function isThere({ there }: TrustClient): boolean {
  try {
    const run = [...bwrap, ...own, 'sh', '-c', there];
    execFileSync('bwrap', run, { stdio: 'ignore', timeout: 20_000, env: base });
    return true;
  } catch {
    return false;
  }
}

async function serve(leaf: { readonly key: string; readonly cert: string }): Promise<Place> {
  const seen: string[] = [];
  const server = createServer(leaf, (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    answer((request.url ?? '').split('?')[0]!, response);
  });
  // A client that does not believe us ends the handshake: that is what half of these tests are about.
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hostPort = `localhost:${(server.address() as AddressInfo).port}`;
  return { origin: `https://${hostPort}`, hostPort, seen, server };
}
