// An ordinary user opens the low ports of the door on a network: not without the right to, and told how to get it.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asUser } from '../support/namespace.ts';
import { makeNetworkHost, type NetworkHost } from '../support/network-host.ts';

let host: NetworkHost;
let folder: string;

beforeAll(async () => {
  host = await makeNetworkHost();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-listeners-'));
  chmodSync(folder, 0o755);
  const contents = `
import { openGatewayListeners } from './src/stages/accept/doors/gateway-listeners.ts';
openGatewayListeners('127.0.0.1', [80, 443, 8443]).then(() => console.log('open'), (error) => console.log(error.message)).then(() => process.exit());
`;
  buildSync({
    stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
    outfile: join(folder, 'open.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});

afterAll(async () => {
  await host.end();
  rmSync(folder, { recursive: true, force: true });
});

const openAs = async (...user: string[]): Promise<string> => {
  const run = await host.run([...user, process.execPath, join(folder, 'open.mjs')], { cwd: folder });
  expect(run.stderr).toBe('');
  return run.stdout.trim();
};

describe('an ordinary user who may not listen on low ports', () => {
  test('is told which port, which capability and which sysctl', async () => {
    expect(await openAs(...asUser(54321))).toMatch(
      /^the gateway door cannot listen on udp 127\.0\.0\.1:53 \(EACCES\)\. .*CAP_NET_BIND_SERVICE.*net\.ipv4\.ip_unprivileged_port_start=53/,
    );
  });

  test('may do so with either', async () => {
    expect(await openAs(...asUser(54321), '--ambient-caps=+net_bind_service', '--inh-caps=+net_bind_service')).toBe(
      'open',
    );
    host.configure('sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=53');
    expect(await openAs(...asUser(54321))).toBe('open');
  });
});
