// A sandbox in its own network namespace asks for names: with the resolvers of glibc, Go and Node, whatever address it
// believes its resolver has, over IPv4 and IPv6, UDP and TCP.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../src/kit/synthetic-address.ts';
import { buildGo, goTestTimeoutMs } from '../support/build-go.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../support/namespace-ground.ts';
import type { ClientRun } from '../support/run-client.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const host = 'api.example.com';
const { v4, v6 } = syntheticAddresses(host);
let gateway: TestGateway;
let sandbox: NamespaceSandbox;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-dns-'));
  chmodSync(folder, 0o755);
  gateway = await startTestGateway({
    dns: { unknown: 'nxdomain' },
    allow: [{ host }, { host: '*.corp.example.com', tunnel: true }],
  });
  sandbox = await openNamespaceSandbox(gateway);
});

afterAll(async () => {
  await sandbox.end();
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a program in the sandbox's network with this resolver in its /etc/resolv.conf. */
function ask(nameserver: string, command: readonly string[], options = ''): Promise<ClientRun> {
  const file = join(folder, `resolv-${nameserver.replaceAll(':', '-')}.conf`);
  writeFileSync(file, `search lan\nnameserver ${nameserver}\n${options}`);
  const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  return sandbox.namespace.run(['unshare', '-m', 'sh', '-c', script, file, ...command], {
    env: { HOME: folder },
  });
}

const python = `
import socket, sys, time
started = time.time()
for name in sys.argv[1:]:
    try:
        print(name, *sorted({a[4][0] for a in socket.getaddrinfo(name, 443)}))
    except socket.gaierror as error:
        print(name, error.errno)
print(time.time() - started < 4.5)
`;

describe('glibc', () => {
  const expected = [`${host} ${[v4, v6].sort().join(' ')}`, 'evil.example -2', 'nowhere -2', 'True'].join('\n');

  test.each(['203.0.113.53', '127.0.0.1', '::1'])(
    'finds the name through a resolver at %s, and believes at once that others do not exist',
    async (nameserver) => {
      const run = await ask(nameserver, ['python3', '-c', python, host, 'evil.example', 'nowhere']);
      expect(run).toEqual({ code: 0, stdout: `${expected}\n`, stderr: '' });
    },
  );

  test.each(['203.0.113.53', '2001:db8::53'])('also over TCP, at %s', async (nameserver) => {
    const names = [host, 'evil.example', 'nowhere'];
    const run = await ask(nameserver, ['python3', '-c', python, ...names], 'options use-vc\n');
    expect(run).toEqual({ code: 0, stdout: `${expected}\n`, stderr: '' });
  });

  test('also with EDNS and both questions on one socket', async () => {
    const options = 'options edns0 single-request-reopen trust-ad\n';
    const run = await ask('203.0.113.53', ['python3', '-c', python, host, 'evil.example', 'nowhere'], options);
    expect(run).toEqual({ code: 0, stdout: `${expected}\n`, stderr: '' });
  });

  test('localhost stays the sandbox itself, when its hosts file does not say so', async () => {
    const run = await ask('203.0.113.53', ['python3', '-c', python, 'app.localhost']);
    expect(run.stdout).toMatch(/^app\.localhost (?:127\.0\.0\.1 ::1|127\.0\.0\.1|::1)\nTrue\n$/);
  });
});

describe('the other resolvers', () => {
  test('Node, by itself (c-ares) and through the system', async () => {
    const program = `
const { lookup, resolve4, resolve6 } = require('node:dns').promises;
(async () => {
  console.log((await lookup('${host}', { family: 4 })).address, ...(await resolve4('${host}')), ...(await resolve6('${host}')));
  for (const find of [lookup, resolve4]) console.log(await find('evil.example').catch((error) => error.code));
})();
`;
    const run = await ask('203.0.113.53', [process.execPath, '-e', program]);
    expect(run).toEqual({ code: 0, stdout: `${v4} ${v4} ${v6}\nENOTFOUND\nENOTFOUND\n`, stderr: '' });
  });

  test(
    'Go, which reads /etc/resolv.conf itself',
    async () => {
      const source = join(folder, 'main.go');
      writeFileSync(
        source,
        'package main\nimport ("fmt"; "net"; "os"; "sort")\nfunc main() {\n\tfor _, name := range os.Args[1:] {\n\t\tfound, err := net.LookupHost(name)\n\t\tsort.Strings(found)\n\t\tmissing, isDNS := err.(*net.DNSError)\n\t\tfmt.Println(found, isDNS && missing.IsNotFound)\n\t}\n}\n',
      );
      await buildGo(source, join(folder, 'ask'));
      const run = await ask('203.0.113.53', [join(folder, 'ask'), host, 'evil.example']);
      expect(run).toEqual({ code: 0, stdout: `[${[v4, v6].sort().join(' ')}] false\n[] true\n`, stderr: '' });
    },
    goTestTimeoutMs,
  );
});

describe('who answers', () => {
  test('an answer comes from the address that was asked, or a careful client would not take it', async () => {
    const program = `
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(10)
client.sendto(bytes.fromhex('000701000001000000000000') + b'\\3api\\7example\\3com\\0' + bytes.fromhex('00010001'), ('203.0.113.99', 53))
print(client.recvfrom(512)[1])
`;
    const run = await sandbox.namespace.run(['python3', '-c', program]);
    expect(run).toEqual({ code: 0, stdout: "('203.0.113.99', 53)\n", stderr: '' });
  });

  test('what was refused is in the journal once for each name, however often and however it was asked', async () => {
    const records = (await gateway.journal()).filter(({ method }) => method === 'DNS');
    const hosts = records.map((one) => one.host);
    expect(new Set(hosts)).toEqual(new Set(['evil.example', 'evil.example.lan', 'nowhere', 'nowhere.lan']));
    expect(hosts).toHaveLength(4);
    expect(records[0]).toMatchObject({ sandbox: sandbox.id, kind: 'lookup', code: 'domain.not-allowed' });
  });

  test('a sandbox that is unregistered is answered no more', async () => {
    await gateway.admin('DELETE', `/internal/containers/${sandbox.id}`);
    const run = await ask('203.0.113.53', ['python3', '-c', python, host], 'options timeout:1 attempts:1\n');
    expect(run.stdout).toMatch(/^api\.example\.com -[23]\n/);
  });
});
