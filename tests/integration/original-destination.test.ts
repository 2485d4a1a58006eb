// Where a connection was going before a rule led it here, as the kernel of a network of its own tells it.
import { afterAll, describe, expect, test } from 'vitest';
import { makeNetworkHost } from '../support/network-host.ts';

const host = await makeNetworkHost();
afterAll(() => host.end());

// In a network of its own, where a rule leads every connection to port 80 of this machine; both ends are in one program.
const program = `
import { createServer, connect } from 'node:net';
import { loadOriginalDestination } from './src/kit/original-destination.ts';
const read = await loadOriginalDestination();
const seen = [];
const listen = (host) => new Promise((resolve) => {
  const server = createServer((socket) => { seen.push(read(socket)); socket.end(); }).listen(80, host, () => resolve(server));
});
const servers = [await listen('127.0.0.1'), await listen('::1')];
for (const host of process.argv.slice(2)) {
  await new Promise((resolve) => connect(Number(process.env.PORT), host).on('close', resolve).on('error', console.error).resume());
}
for (const server of servers) server.close();
console.log(JSON.stringify(seen));
`;

async function seenBy(port: number, ...destinations: string[]): Promise<unknown> {
  const { buildSync } = await import('esbuild');
  const { outputFiles } = buildSync({
    stdin: { contents: program, resolveDir: process.cwd(), loader: 'ts' },
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['koffi'],
  });
  const source = outputFiles[0]!.text;
  const run = await host.run([process.execPath, '--input-type=module', '-', ...destinations], {
    input: source,
    cwd: process.cwd(),
    env: { PORT: String(port) },
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(run.stdout);
}

describe('the kernel remembers where a connection was going', () => {
  test('before a rule led it here, over IPv4 and IPv6, and its own place where none did', async () => {
    const own = ['127.0.0.1', '::1'];
    for (const address of own) expect(await seenBy(80, address)).toEqual([null]);
    host.configure('ip', 'route', 'add', 'local', '203.0.113.0/24', 'dev', 'lo');
    host.configure('ip', '-6', 'route', 'add', 'local', '2001:db8::/32', 'dev', 'lo');
    host.configure('nft', 'add table inet t; add chain inet t o { type nat hook output priority -100; }');
    host.configure('nft', 'add rule inet t o tcp dport 8443 redirect to :80');
    expect(await seenBy(8443, '203.0.113.9', '2001:db8:0:0:1::9')).toEqual([
      { address: '203.0.113.9', port: 8443 },
      { address: '2001:db8::1:0:0:9', port: 8443 },
    ]);
    expect(await seenBy(80, ...own)).toEqual(own.map((address) => ({ address, port: 80 })));
  });
});
