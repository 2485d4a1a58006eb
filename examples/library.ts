// The library in one file: a gateway with a policy written in code, a command in a sandbox behind it, and what happened.
// The far side is pretended by a server in this very process. Run: node library.js [STATE DIRECTORY]
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type PolicyDocument, runSandboxed, startGateway } from 'sallyport';

const server = createServer((request, response) => response.end(`the far side was asked for ${request.url}\n`));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

const policy: PolicyDocument = {
  version: 1,
  listen: { proxy: '127.0.0.1:0' },
  allow: [{ host: 'api.example.com', methods: ['GET'], plain_http: true, ports: [80] }],
  // Like curl --resolve. Your own policy will not need it.
  upstream: { resolve: { 'api.example.com': `127.0.0.1:${port}` } },
};

const scratch = await mkdtemp(join(tmpdir(), 'sallyport-example-'));
const gateway = await startGateway({ config: policy, home: process.argv[2] ?? join(scratch, 'state') });

const script =
  'curl -s http://api.example.com/v1; curl -s -X POST http://api.example.com/v1; curl -s http://elsewhere.example/ || true';
const run = await runSandboxed({
  gateway,
  command: ['sh', '-c', script],
  cwd: await mkdtemp(join(scratch, 'project-')),
});
const [output, exitCode] = await Promise.all([text(run.stdout!), run.exitCode]);
console.log(output.trim());
console.log(`the command ended with ${exitCode}`);

for await (const { method, host, verdict, code, rule } of run.requests()) {
  console.log(`${method} ${host}: ${verdict} ${code ?? rule ?? ''}`);
}
const { allowed, hint } = await gateway.check({ method: 'DELETE', url: 'https://api.example.com/v1/everything' });
console.log(allowed ? 'it could delete everything' : `it could not delete everything. ${hint}`);

await gateway.stop();
server.close();
await rm(scratch, { recursive: true });
