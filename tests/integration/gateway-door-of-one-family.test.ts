// A door that has no IPv6 says of every allowed name that there is no such address. Resolvers must believe that at once:
// some take an empty answer for a server that knows nothing, and ask again until they give up.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildGo, goTestTimeoutMs } from '../support/build-go.ts';
import { type LoopbackNetwork, openLoopbackNetwork } from '../support/loopback-network.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

const host = 'api.example.com';
let network: LoopbackNetwork;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-family-'));
  chmodSync(folder, 0o755);
  network = await openLoopbackNetwork(5, { allow: [{ host }] });
  // Where programs ask from that do not choose.
  await network.register({ container_ip: '127.0.0.1' });
  writeFileSync(join(folder, 'resolv.conf'), `nameserver ${network.door}\noptions timeout:5 attempts:2\n`);
});

afterAll(async () => {
  await network.stop();
  rmSync(folder, { recursive: true, force: true });
});

function ask(...command: string[]): Promise<ClientRun> {
  const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  return runClient('unshare', ['-m', 'sh', '-c', script, join(folder, 'resolv.conf'), ...command]);
}

describe('an address that there is not', () => {
  test('is believed by glibc: it does not exist (-5), which is no failure to find out (-3)', async () => {
    const script = `
import socket, time
started = time.time()
print(socket.getaddrinfo('${host}', 443)[0][4][0])
try:
    socket.getaddrinfo('${host}', 443, socket.AF_INET6)
except socket.gaierror as error:
    print(error.errno)
print(time.time() - started < 5)`;
    expect(await ask('python3', '-c', script)).toEqual({ code: 0, stdout: `${network.door}\n-5\nTrue\n`, stderr: '' });
  });

  test(
    'is believed by Go, which asks by itself',
    async () => {
      const source = join(folder, 'main.go');
      writeFileSync(
        source,
        `package main
import ("context"; "fmt"; "net")
func main() {
	all, err := net.DefaultResolver.LookupIP(context.Background(), "ip", "${host}")
	fmt.Println(all, err)
	_, err = net.DefaultResolver.LookupIP(context.Background(), "ip6", "${host}")
	missing, isDNS := err.(*net.DNSError)
	fmt.Println(isDNS && missing.IsNotFound && !missing.IsTemporary)
}
`,
      );
      await buildGo(source, join(folder, 'ask'));
      expect(await ask(join(folder, 'ask'))).toEqual({
        code: 0,
        stdout: `[${network.door}] <nil>\ntrue\n`,
        stderr: '',
      });
    },
    goTestTimeoutMs,
  );
});
