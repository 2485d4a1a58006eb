import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { type GitSandbox, openGitSandbox } from '../support/git-sandbox.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { githubToken } from '../support/push-ground.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';

const mib = 1 << 20;
const size = 256 * mib;
/** Newer versions of Node let their heap grow to some 90 MiB for any push; one that is kept in memory takes all of its size. */
const mostGrowth = 128 * mib;

let command: BuiltCommand;
let gateway: RunningGateway;
let upstream: GitUpstream;
let sandbox: GitSandbox;
let bare: GitFolder;
let clone: GitFolder;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startGitUpstream(ca, { 'github.com': `x-access-token:${githubToken}` });
  command = buildCommand({
    allow: [{ preset: 'github' }],
    upstream: { resolve: { 'github.com': upstream.address }, ca: ca.path },
  });
  gateway = await command.up();
  await command.run(['register', '--ip', '127.0.0.1', '--repo', 'acme/large', '--mode', 'user']);
  await command.run(['secret', 'set', 'github'], githubToken);
  sandbox = openGitSandbox(gateway);
  bare = await upstream.create('acme/large', { config: { 'receive.unpackLimit': '1', 'core.bigFileThreshold': '1m' } });
  await bare.commit({ branch: 'main', files: { a: 'a\n' } });
  clone = await sandbox.clone('https://github.com/acme/large.git');
});

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await upstream.close();
  sandbox.remove();
  command.remove();
});

function memoryOf(what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024;
}

/** A spool file has no name; the process that holds it shows it. */
function openSpoolFiles(): string[] {
  const folder = `/proc/${gateway.child.pid}/fd`;
  const paths = readdirSync(folder).map((number) => {
    try {
      return readlinkSync(`${folder}/${number}`);
    } catch {
      return '';
    }
  });
  return paths.filter((path) => path.includes('/spool/'));
}

/** A commit with one file of a quarter of a gigabyte, stored as it is, so that as many bytes travel. */
async function commitLargeFile(): Promise<string> {
  await clone.git('config', 'core.compression', '0');
  await clone.git('config', 'core.bigFileThreshold', '1m');
  const child = spawn('git', ['fast-import', '--quiet'], { cwd: clone.folder, stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const { stdin } = child;
  stdin.write('commit refs/heads/large\ncommitter A U Thor <author@example.com> 1700000000 +0000\n');
  stdin.write(`data 5\nlarge\nfrom refs/heads/main^0\nM 100644 inline large\ndata ${size}\n`);
  const piece = Buffer.alloc(mib, 'the same bytes again and again. ');
  for (let i = 0; i < size / mib; i++) {
    piece.writeUInt32BE(i);
    if (!stdin.write(Buffer.from(piece))) await new Promise((resolve) => stdin.once('drain', resolve));
  }
  stdin.end('\n');
  await ended;
  return clone.git('rev-parse', 'large');
}

describe('a push of a quarter of a gigabyte is judged from the disk', () => {
  test('it arrives, and the gateway stays small', { timeout: 300_000 }, async () => {
    const tip = await commitLargeFile();
    await sleep(200);
    const before = memoryOf('VmRSS');
    // Not over HTTP/2: libcurl 7.88 now and then forgets to say that an upload of unknown length is at its end.
    const run = await clone.run(['-c', 'http.version=HTTP/1.1', 'push', 'origin', 'large']);
    expect(run.stderr).toContain('[new branch]');
    expect(await bare.tip('large')).toBe(tip);
    expect(upstream.pushes.at(-1)!.bodyBytes).toBeGreaterThan(size);
    expect(memoryOf('VmHWM') - before).toBeLessThan(mostGrowth);
    expect(openSpoolFiles()).toEqual([]);
  });
});
