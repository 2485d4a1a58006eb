// Sandboxes on an internal network whose only way out is the gateway's door on it: they look names up there and dial what
// they are told, with clients that know nothing of a proxy.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { addresses, door, type GatewayNetwork, openGatewayNetwork } from '../support/gateway-network.ts';
import { makeTestCa } from '../support/test-ca.ts';

const host = 'api.example.com';
const pinned = 'app.pinned.example';
const git = 'git.example';
const farCa = makeTestCa();
let network: GatewayNetwork;
let id: string;
let rules: (more?: number[]) => Record<string, unknown>;

beforeAll(async () => {
  network = await openGatewayNetwork({
    farCa,
    names: [host, pinned, git],
    repositories: ['team/project'],
    document: (upstream, gitServer) => {
      rules = (more = []) => ({
        allow: [{ host, ports: [443, 8443, ...more] }, { host: pinned, tunnel: true }, { host: git }],
        git: { hosts: [git], public_fetch: true },
        credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
        upstream: { resolve: { [host]: upstream, [pinned]: upstream, [git]: gitServer }, ca: farCa.path },
      });
      return rules();
    },
  });
  await network.admin('PUT', '/internal/credentials/key', 'the-real-key');
  id = await network.register({ container_ip: addresses.first.v4 });
  await network.register({ container_ip: addresses.first.v6 });
});

afterAll(() => network.end());

const record = (path: string) =>
  eventually(() => network.journal().find((one) => one.path === path), `a record of ${path}`);

describe('a sandbox on the network works unmodified', () => {
  test('curl finds the name, reaches the host and uses a key it never held', async () => {
    const { code, stdout, stderr } = await network.curl(network.first, '-4', `https://${host}/curl`);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ url: '/curl' });
    const reached = (await network.seen()).find(({ url }) => url === '/curl');
    expect(reached?.headers).toMatchObject({ 'x-api-key': 'the-real-key' });
    expect(await record('/curl')).toMatchObject({
      sandbox: id,
      door: `gateway ${door.v4}`,
      proof: ['ip'],
      host,
      port: 443,
      destination: `${door.v4}:443`,
      verdict: 'allowed',
    });
  });

  test('over IPv6, with the address of that door', async () => {
    const { code, stdout } = await network.curl(network.first, '-6', `https://${host}/six`);
    expect(code).toBe(0);
    expect(stdout).toContain('"url":"/six"');
    expect(await record('/six')).toMatchObject({ door: `gateway ${door.v6}`, destination: `[${door.v6}]:443` });
  });

  test('on another port that the policy names', async () => {
    const { stdout } = await network.curl(network.first, '-4', `https://${host}:8443/port`);
    expect(stdout).toContain('"url":"/port"');
    expect(await record('/port')).toMatchObject({ port: 8443, destination: `${door.v4}:8443` });
  });

  test('git clones, python reads', async () => {
    const env = { GIT_SSL_CAINFO: network.caPath, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
    const resolvConf = network.resolvConf();
    const listed = await network.first.run(['git', 'ls-remote', `https://${git}/team/project.git`], {
      env,
      resolvConf,
    });
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toMatch(/^[0-9a-f]{40}\tHEAD\n[0-9a-f]{40}\trefs\/heads\/main\n$/);
    const script = `import urllib.request; print(urllib.request.urlopen('https://${host}/python').status)`;
    const read = await network.first.run(['python3', '-c', script], {
      env: { SSL_CERT_FILE: network.caPath },
      resolvConf,
    });
    expect(read).toEqual({ code: 0, stdout: '200\n', stderr: '' });
  });

  test('a tunnel keeps its own TLS', async () => {
    const run = await network.first.run(
      ['curl', '-sS', '-m', '30', '-4', '--cacert', farCa.path, `https://${pinned}/tunnel`],
      { resolvConf: network.resolvConf() },
    );
    expect(run.stdout).toContain('"url":"/tunnel"');
    const tunnel = await eventually(() => network.journal().find((one) => one.kind === 'tunnel'), 'its record');
    expect(tunnel).toMatchObject({ sandbox: id, host: pinned, destination: `${door.v4}:443`, verdict: 'allowed' });
  });
});

describe('names are looked up at the door', () => {
  const python = `
import socket, sys, time
started = time.time()
for name in sys.argv[1:]:
    try:
        print(name, *sorted({a[4][0] for a in socket.getaddrinfo(name, 443)}))
    except socket.gaierror as error:
        print(name, error.errno)
print(time.time() - started < 2)
`;
  const expected = `${host} ${door.v4} ${door.v6}\nevil.example -2\nTrue\n`;

  test.each([
    ['over UDP', door.v4, ''],
    ['over TCP', door.v4, 'options use-vc\n'],
    ['over IPv6', door.v6, ''],
    ['over TCP and IPv6', door.v6, 'options use-vc\n'],
    ['with EDNS', door.v4, 'options edns0 trust-ad\n'],
  ])('by glibc %s', async (_how, nameserver, options) => {
    const run = await network.first.run(['python3', '-c', python, host, 'evil.example'], {
      resolvConf: network.resolvConf(nameserver, options),
    });
    expect(run).toEqual({ code: 0, stdout: expected, stderr: '' });
  });

  test('by Node, which asks by itself', async () => {
    const script = `
const { resolve4, resolve6, resolveMx } = require('node:dns').promises;
(async () => {
  console.log(...(await resolve4('${host}')), ...(await resolve6('${host}')));
  for (const name of ['evil.example', '${host}']) console.log(await resolveMx(name).catch((error) => error.code));
})();`;
    const run = await network.first.run([process.execPath, '-e', script], { resolvConf: network.resolvConf() });
    expect(run).toEqual({ code: 0, stdout: `${door.v4} ${door.v6}\nENOTFOUND\nENODATA\n`, stderr: '' });
  });
});

describe('what changes takes hold', () => {
  test('a port that the policy names later is served, and no longer when it does not', async () => {
    const dial = () => network.curl(network.first, '-4', `https://${host}:9443/later`);
    expect((await dial()).code).toBe(7);
    network.writeConfig(rules([9443]));
    await eventually(async () => (await dial()).code === 0, 'the new port');
    network.writeConfig(rules());
    await eventually(async () => (await dial()).code === 7, 'the port is gone');
  });

  test('an unregistered sandbox is cut off where it stands, and is a stranger', async () => {
    const script = `
import socket, ssl, time
context = ssl.create_default_context(cafile='${farCa.path}')
tunnel = context.wrap_socket(socket.create_connection(('${door.v4}', 443), 10), server_hostname='${pinned}')
print('open', flush=True)
started = time.time()
try:
    tunnel.recv(1)
except OSError:
    pass
print('cut' if time.time() - started < 5 else 'still there')`;
    const tunnel = network.first.start(['python3', '-c', script]);
    await tunnel.stdout.until('open\n');
    expect((await network.admin('DELETE', `/internal/containers/${id}`)).status).toBe(204);
    await tunnel.stdout.until('cut\n');
    expect(await tunnel.ended).toBe(0);
    const { stdout } = await network.curl(
      network.first,
      '-4',
      '--resolve',
      `${host}:443:${door.v4}`,
      `https://${host}/`,
    );
    expect(JSON.parse(stdout)).toMatchObject({ code: 'sandbox.unknown' });
  });
});
