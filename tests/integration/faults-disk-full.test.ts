// The disk of the gateway is full, then has room again. A real file system of its own, a few MiB in memory, so that nothing
// else on the machine notices.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FileRegistrations } from '../../src/gateway/store/file-registrations.ts';
import type { StoredRegistration } from '../../src/path/shared-store.ts';
import { verifyJournal } from '../../src/stages/audit/journal/verify.ts';
import { eventually } from '../support/eventually.ts';
import { registeredIn } from '../support/file-registry.ts';
import { type GitSandbox, openGitSandbox, remoteWords } from '../support/git-sandbox.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { storedRegistration } from '../support/store-contract.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openTls, TunnelRefused } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'github.com';
const token = 'ghp_real0123456789abcdefghijklmnopqrstuv';
const disk = mkdtempSync(join(tmpdir(), 'sallyport-small-disk-'));
const ballast = join(disk, 'ballast');
let upstream: GitUpstream;
let gateway: TestGateway;
let sandbox: GitSandbox;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startGitUpstream(ca, { [host]: `x-access-token:${token}` });
  await upstream.create('acme/app', { isPublic: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m,mode=700', 'tmpfs', disk]);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = disk;
  try {
    gateway = await startTestGateway({
      allow: [{ preset: 'github' }],
      upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
    });
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  await gateway.register({ id: 'one', container_ip: '127.0.0.1', repos: ['acme/*'], auth_mode: 'user' });
  await gateway.setSecret('github', token);
  sandbox = openGitSandbox(gateway);
});

afterAll(async () => {
  rmSync(ballast, { force: true });
  await gateway.stop();
  sandbox.remove();
  await upstream.close();
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true, force: true });
});

/** Leaves not one block, or so many bytes. */
function fill(leaveBytes = 0): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - leaveBytes));
}

/** Its status and what it says; of the CONNECT when that is refused already. */
async function ask(
  path = '/acme/app.git/info/refs?service=git-upload-pack',
): Promise<{ status: number; text: string }> {
  try {
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const text = await wire.rest();
    return { status: Number(text.slice(9, 12)), text };
  } catch (error) {
    if (!(error instanceof TunnelRefused)) throw error;
    return { status: Number(error.head.slice(9, 12)), text: error.head };
  }
}

/** The journal notices with what it has to write next. */
async function untilRefused(): Promise<{ status: number; text: string }> {
  let asked = { status: 0, text: '' };
  await eventually(async () => {
    asked = await ask();
    return asked.status === 500;
  }, 'requests are refused');
  return asked;
}

async function health(): Promise<{ status: number; journal: { live: boolean; detail: string } }> {
  const reply = await gateway.admin('GET', '/internal/health');
  const { controls } = reply.json<{ controls: { name: string; live: boolean; detail: string }[] }>();
  return { status: reply.status, journal: controls.find(({ name }) => name === 'journal')! };
}

async function untilServed(): Promise<void> {
  await eventually(async () => (await ask()).status === 200, 'it has recovered by itself');
  expect(await health()).toMatchObject({ status: 200, journal: { live: true } });
}

const journalDirectory = (): string => join(gateway.home, 'state', 'journal');

describe('a gateway whose disk is full', () => {
  test('serves nobody and says why, and goes on by itself when there is room', async () => {
    expect((await ask()).status).toBe(200);
    fill();
    const refused = await untilRefused();
    expect(refused.text).toContain('audit.unavailable');
    upstream.forget();
    for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(500);
    expect(upstream.requests).toEqual([]);
    const { status, journal } = await health();
    expect(status).toBe(503);
    expect(journal.live).toBe(false);
    expect(journal.detail).toMatch(/^nothing is served: .*cannot be written.*ENOSPC/);
    rmSync(ballast);
    await untilServed();
    expect(await verifyJournal(journalDirectory())).toMatchObject({ ok: true, tornBytes: 0 });
  });

  test('acknowledges no registration, and takes one back at once', async () => {
    await gateway.register({ id: 'two', container_ip: '10.0.0.2' });
    fill();
    // More than may be left of the page in which the file ends.
    const repos = Array.from({ length: 300 }, (_, i) => `acme/repository-number-${i}`);
    const refused = await gateway.admin('POST', '/internal/containers', { id: 'three', repos });
    expect(refused.status).toBe(500);
    expect(refused.json()).toMatchObject({ code: 'registry.unwritable', hint: expect.stringContaining('Make room') });
    const there = async (id: string): Promise<number> =>
      (await gateway.admin('GET', `/internal/containers/${id}`)).status;
    expect(await there('three')).toBe(404);
    // Whether that page has room for so little, or not: it is gone.
    await gateway.admin('DELETE', '/internal/containers/two');
    expect(await there('two')).toBe(404);
    rmSync(ballast);
    await untilServed();
    await gateway.register({ id: 'three', container_ip: '10.0.0.3' });
    expect(await there('three')).toBe(200);
  });

  test('has no half of a registration in its file that a page had room for', async () => {
    const path = join(disk, 'registry.json');
    const read = (body: unknown): StoredRegistration => storedRegistration((body as { id: string }).id);
    const store = new FileRegistrations({ path, read });
    await store.add(storedRegistration('one'));
    fill();
    // What is left of the page that the file ends in is written before the disk is found to be full.
    const body = JSON.stringify({ id: 'two', note: 'x'.repeat(20_000) });
    await expect(store.add(storedRegistration('two', { body }))).rejects.toMatchObject({ code: 'registry.unwritable' });
    expect(registeredIn(path).map(({ id }) => id)).toEqual(['one']);
    // There is room in that page still.
    await store.remove('one');
    rmSync(ballast);
    await store.add(storedRegistration('three'));
    await store.close();
    expect((await new FileRegistrations({ path, read }).load()).map(({ id }) => id)).toEqual(['three']);
    rmSync(path);
  });

  test('refuses a push that has no room in words, and takes it afterwards', async () => {
    const work = await sandbox.init(`https://${host}/acme/app.git`);
    await work.commit({ branch: 'main', files: { 'large.txt': randomText(2 * 1024 * 1024) } });
    fill(512 * 1024);
    upstream.forget();
    const refused = await work.run(['push', 'origin', 'main:refs/heads/sandbox/one']);
    expect(refused.code).not.toBe(0);
    expect(remoteWords(refused)).toContain('no room');
    expect(upstream.pushes).toEqual([]);
    rmSync(ballast);
    const taken = await work.run(['push', 'origin', 'main:refs/heads/sandbox/one']);
    expect(taken.stderr).not.toContain('rejected');
    expect(upstream.pushes).toHaveLength(1);
  });

  test('has in its journal what it refused, and all of it verifies', async () => {
    expect(await verifyJournal(journalDirectory())).toMatchObject({ ok: true, tornBytes: 0 });
    const records = await gateway.journal();
    expect(records.filter(({ code }) => code === 'audit.unavailable').length).toBeGreaterThanOrEqual(6);
  });
});

function randomText(bytes: number): string {
  return Buffer.from(Array.from({ length: bytes / 2 }, () => Math.floor(Math.random() * 256))).toString('hex');
}
