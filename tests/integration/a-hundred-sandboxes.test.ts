import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../src/kit/synthetic-address.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';

const count = 100;
const mebibyte = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'sallyport-hundred-'));
let upstream: FakeUpstream;
let command: BuiltCommand;
let gateway: RunningGateway;
const namespaces: TestNamespace[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.github.com'], (request, response) => response.end(`is ${request.url}`));
  command = buildCommand({
    allow: [{ preset: 'github' }],
    upstream: { ca: ca.path, resolve: { 'api.github.com': upstream.address } },
  });
  gateway = await command.up();
  await inTurns(async () => {
    namespaces.push(await makeNamespace());
  });
}, 120_000);

afterAll(async () => {
  await Promise.all(namespaces.map((namespace) => namespace.end()));
  gateway.kill('SIGTERM');
  await gateway.ended;
  await upstream.close();
  command.remove();
  rmSync(folder, { recursive: true });
});

/** A few at a time, as a machine of two cores can bear. */
async function inTurns(work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}

const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(join(command.home, 'state', 'run', 'admin.sock'), method, path, body);

/** Resident memory after garbage has had a moment to be collected, in bytes. */
function residentBytes(): number {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024;
}

describe('a hundred sandboxes on one gateway', () => {
  test('work side by side, each by its own rights, in less than a mebibyte each', { timeout: 180_000 }, async () => {
    const before = residentBytes();
    await inTurns(async (at) => {
      const registration = { id: `box-${at}`, repos: [`octo/repo-${at}`], namespace: { pid: namespaces[at]!.pid } };
      const reply = await admin('POST', '/internal/containers', registration);
      expect(reply.status, reply.body).toBe(201);
      const { grant } = reply.json<{ grant: { ca_certificate: string } }>();
      writeFileSync(join(folder, `${at}.pem`), grant.ca_certificate);
    });
    expect((residentBytes() - before) / count).toBeLessThan(mebibyte);

    const { v4 } = syntheticAddresses('api.github.com');
    await inTurns(async (at) => {
      const other = (at + 1) % count;
      const urls = [at, other].map((repo) => `https://api.github.com/repos/octo/repo-${repo}`);
      const dial = ['--resolve', `api.github.com:443:${v4}`];
      const curl = ['curl', '-sS', '-m', '30', '--cacert', join(folder, `${at}.pem`), ...dial, ...urls];
      const { stdout, stderr } = await namespaces[at]!.run(curl, { timeoutMs: 60_000 });
      expect(stderr).toBe('');
      expect(stdout).toContain(`is /repos/octo/repo-${at}`);
      expect(stdout).toContain('"code":"repo.not-allowed"');
      expect(stdout).not.toContain(`is /repos/octo/repo-${other}`);
    });
    expect((residentBytes() - before) / count).toBeLessThan(mebibyte);
    expect(upstream.seen).toHaveLength(count);
  });

  test('are forgotten when their processes are gone, without being asked', async () => {
    await Promise.all(namespaces.map((namespace) => namespace.end()));
    const started = performance.now();
    let left = count;
    while (left > 0 && performance.now() - started < 40_000) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      left = (await admin('GET', '/internal/containers')).json<{ containers: unknown[] }>().containers.length;
    }
    expect(left).toBe(0);
  });
});
