import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ApprovalService } from '../../../src/gateway/approvals/approval-service.ts';
import { Journal } from '../../../src/stages/audit/journal/journal.ts';
import { SandboxRegistry } from '../../../src/stages/identify/registry/registry.ts';
import type { SandboxRecord } from '../../../src/stages/identify/registry/sandbox-record.ts';
import { SandboxReplica } from '../../../src/stages/identify/registry/sandbox-replica.ts';
import { type ApprovalGround, openApprovalGround } from '../../support/approval-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { openTls, openTunnel } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: ApprovalGround;

beforeAll(async () => {
  ground = await openApprovalGround();
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
});

afterAll(() => ground.stop());

const deny = async (): Promise<void> => {
  const [question] = await ground.waiting();
  expect(ground.connections).toBe(0);
  expect((await ground.answer(question!.id, { answer: 'deny' })).status).toBe(200);
};

describe('before a person has said yes nobody connects to the far side', () => {
  test('not by asking for a tunnel, nor by the handshake inside it', async () => {
    (await openTunnel(ground.gateway, 'ask.example:443')).destroy();
    const tls = await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath });
    tls.destroy();
    (await openTunnel(ground.gateway, 'pinned.example:443')).destroy();
    expect(ground.connections).toBe(0);
    expect((await ground.gateway.admin('GET', '/internal/questions')).json()).toEqual({ questions: [] });
  });

  test('not where nobody looks on', async () => {
    expect((await ground.curl('https://ask.example/', '-d', 'x')).stdout).toContain('approval.unwatched');
    expect((await ground.curl('http://ask.example/')).stdout).toContain('approval.unwatched');
    expect(ground.connections).toBe(0);
  });

  test.each([
    ['over TLS', 'https://ask.example/x', ['-d', 'secret']],
    ['in the clear', 'http://ask.example/x', ['-d', 'secret']],
    ['over HTTP/2', 'https://ask.example/x', ['--http2', '-d', 'secret']],
    ['undecrypted', 'https://pinned.example/x', ['--insecure']],
    ['to be upgraded', 'https://ask.example/x', ['-H', 'Connection: Upgrade', '-H', 'Upgrade: websocket']],
  ])('not for a request %s, and a no is a no', async (_how, url, more) => {
    const watcher = await ground.watch();
    const run = ground.curl(url, ...more);
    await deny();
    await run;
    expect(ground.connections).toBe(0);
    watcher.end();
  });

  test('not for the next one that was sent along with it', async () => {
    const wire = new Wire(await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath }));
    wire.send('GET /1 HTTP/1.1\r\nHost: ask.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: ask.example\r\n\r\n');
    const watcher = await ground.watch();
    await deny();
    expect(await wire.until('\r\n')).toContain(' 403 ');
    await deny();
    expect(ground.upstream.seen).toEqual([]);
    wire.socket.destroy();
    watcher.end();
  });
});

describe('nor after a yes, where a request that came only now would be refused', () => {
  afterEach(() => vi.restoreAllMocks());

  /** What changes between the answer and the moment in which the request goes on. */
  function betweenYesAndGo(change: () => void): void {
    const { ask } = ApprovalService.prototype;
    vi.spyOn(ApprovalService.prototype, 'ask').mockImplementation(async function (this: ApprovalService, ...given) {
      const verdict = await ask.apply(this, given);
      if (verdict.granted) change();
      return verdict;
    });
  }

  async function saysYes(): Promise<string> {
    const watcher = await ground.watch();
    const run = ground.curl('https://ask.example/late');
    const [question] = await ground.waiting();
    expect((await ground.answer(question!.id, { answer: 'approve', for: 'once' })).status).toBe(200);
    const { stdout } = await run;
    watcher.end();
    return stdout;
  }

  test('because what happens to it could not be written down', async () => {
    const append = vi.spyOn(Journal.prototype, 'append');
    let journal: Journal | null = null;
    betweenYesAndGo(() => {
      journal = append.mock.contexts.at(-1) as Journal;
      journal.healthy = false;
    });
    const told = await saysYes();
    journal!.healthy = true;
    expect(told).toContain('audit.unavailable');
    expect(ground.connections).toBe(0);
  });

  test.each([
    ['its container is not what it was any more', 'sandbox.unconfirmed', { confirmed: false }],
    ['its registration has ended', 'sandbox.expired', { expiresAtMs: 0 }],
  ])('because %s', async (_why, code, change) => {
    const touch = vi.spyOn(SandboxRegistry.prototype, 'touch');
    let record: SandboxRecord | null = null;
    betweenYesAndGo(() => {
      record = touch.mock.calls.at(-1)![0];
      Object.assign(record, change);
    });
    await saysYes();
    // By the journal: who has expired is cut off before it could be told.
    const isWritten = async () => (await ground.gateway.journal()).some((record) => record.code === code);
    await eventually(isWritten, `it is refused with ${code}`);
    expect(ground.connections).toBe(0);
    record!.confirmed = true;
    if (code === 'sandbox.expired') await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  });

  test('because nobody knows its sandbox, or another one has its name', async () => {
    for (const found of [undefined, {} as SandboxRecord]) {
      betweenYesAndGo(() => vi.spyOn(SandboxReplica.prototype, 'lookUpId').mockReturnValueOnce(found));
      expect(await saysYes()).toContain('sandbox.unknown');
      vi.restoreAllMocks();
    }
    expect(ground.connections).toBe(0);
  });

  test('and where nothing has changed it goes', async () => {
    expect(await saysYes()).not.toContain('code');
    expect(ground.upstream.seen).toMatchObject([{ url: '/late' }]);
  });
});

describe('nor after a yes, for a client that has left meanwhile', () => {
  // More than is kept of a request that waits: from then on nothing is read, not even that its client leaves.
  test.each([100_000, 400_000, 900_000])('with %i bytes of a body', async (size) => {
    const watcher = await ground.watch();
    const tls = await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath });
    tls.on('error', () => {});
    tls.write(`POST /left/${size} HTTP/1.1\r\nHost: ask.example\r\nContent-Length: ${size}\r\n\r\n`);
    const sent = new Promise((resolve) => tls.write('x'.repeat(size), resolve));
    const [question] = await ground.waiting();
    await sent;
    // A person takes longer than this; so long a pause is what makes the end of it doubtful.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    tls.destroy();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    const isWritten = async () => (await ground.gateway.journal()).some(({ path }) => path === `/left/${size}`);
    await eventually(isWritten, 'it is over');
    expect(ground.upstream.seen.map(({ url }) => url)).not.toContain(`/left/${size}`);
    watcher.end();
  });

  test('and one that is still there is served whole', async () => {
    const watcher = await ground.watch();
    const size = 900_000;
    const wire = new Wire(await openTls(ground.gateway, 'ask.example:443', { caPath: ground.gateway.caPath }));
    wire.send(`POST /stayed HTTP/1.1\r\nHost: ask.example\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`);
    const [question] = await ground.waiting();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await ground.answer(question!.id, { answer: 'approve', for: 'once' });
    expect(await wire.until('\r\n')).toContain(' 200 ');
    const seen = ground.upstream.seen.at(-1);
    expect([seen?.url, seen?.body.length]).toEqual(['/stayed', size]);
    wire.socket.destroy();
    watcher.end();
  });
});
