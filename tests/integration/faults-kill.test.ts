// kill -9 at moments nobody chose, while sandboxes come and go and requests stream: what was acknowledged is there afterwards,
// what was taken back is not, the journal holds, and the next start needs no help. The seed is printed.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listWorkerJournals } from '../../src/stages/audit/journal/journal-parts.ts';
import { verifyJournal } from '../../src/stages/audit/journal/verify.ts';
import { verifyGateway } from '../../src/stages/audit/journal/verify-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { registeredIn } from '../support/file-registry.ts';
import { journalLines } from '../support/journal-lines.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type BuiltCommand, buildCommand, type RunningCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';
import { upWithWorkers } from '../support/workers-ground.ts';

const host = 'far.example';
const kills = 7;
const requestLoops = 2;
const { random, seed } = seededRandom();
let command: BuiltCommand;
let policy: Record<string, unknown>;
let close: () => Promise<void>;
const running = new Set<RunningCommand>();

/** What the admin API has said of a sandbox: null where no answer came, so that both are right. */
const acknowledged = new Map<string, { isThere: boolean | null; expiresAt: number }>();
let answered = 0;
let made = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [host], (_, response) => {
    response.end('answer');
  });
  close = upstream.close;
  policy = { allow: [{ host }], upstream: { resolve: { [host]: upstream.address }, ca: ca.path } };
  command = buildCommand(policy);
  console.log(`seed of the kills: ${seed}`);
});

afterEach(async () => {
  for (const one of running) await killed(one);
});

afterAll(async () => {
  await close();
  command.remove();
});

const state = (...names: string[]): string => join(command.home, 'state', ...names);
const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(state('run', 'admin.sock'), method, path, body);

async function started(up: Promise<RunningGateway>): Promise<RunningGateway> {
  const gateway = await up;
  running.add(gateway);
  return gateway;
}

async function killed(one: RunningCommand): Promise<void> {
  running.delete(one);
  one.kill('SIGKILL');
  await one.ended;
}

/** One sandbox: it comes, it is renewed, and half of them go again. Throws when the gateway is gone. */
async function comeAndGo(): Promise<void> {
  const id = `sandbox-${++made}`;
  const said = { isThere: null as boolean | null, expiresAt: 0 };
  acknowledged.set(id, said);
  const container_ip = `10.${(made >> 16) & 255}.${(made >> 8) & 255}.${made & 255}`;
  const registered = await admin('POST', '/internal/containers', { id, container_ip });
  expect(registered.status).toBe(201);
  said.isThere = true;
  const renewed = await admin('POST', `/internal/containers/${id}/renew`);
  expect(renewed.status).toBe(200);
  said.expiresAt = Date.parse(renewed.json<{ expires_at: string }>().expires_at);
  if (random() < 0.5) return;
  said.isThere = null;
  expect((await admin('DELETE', `/internal/containers/${id}`)).status).toBe(204);
  said.isThere = false;
}

async function askOnAndOn(gateway: RunningGateway): Promise<void> {
  for (;;) {
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    for (let i = 0; i < 20; i++) {
      wire.send(`GET /${i} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect((await wire.answer()).head).toContain('HTTP/1.1 200');
      answered++;
    }
    wire.socket.destroy();
  }
}

/** Runs until the gateway is gone; what goes wrong before that is a failure. */
async function untilKilled(gateway: RunningGateway, work: () => Promise<void>): Promise<void> {
  const gone = (): boolean => gateway.child.killed;
  try {
    while (!gone()) await work();
  } catch (error) {
    if (!gone()) throw error;
  }
}

async function workAndKill(gateway: RunningGateway): Promise<void> {
  const before = { answered, made };
  const works = [
    ...[comeAndGo, comeAndGo, comeAndGo].map((work) => untilKilled(gateway, work)),
    ...Array.from({ length: requestLoops }, () => untilKilled(gateway, () => askOnAndOn(gateway))),
  ];
  const isBusy = (): boolean => answered > before.answered && made > before.made + 3;
  await eventually(isBusy, 'there is something to interrupt');
  await sleep(random() * 120);
  await Promise.all([killed(gateway), ...works]);
}

/** Looks as often as it can: what comes next may be there a moment later. */
async function untilThere(path: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!existsSync(path)) {
    if (performance.now() > deadline) throw new Error(`${path} was never made`);
    await new Promise(setImmediate);
  }
}

function recoveredNotes(): number {
  return journalLines(state('journal')).filter(({ note }) => note === 'recovered').length;
}

async function expectWhatWasSaid(): Promise<void> {
  const { containers } = (await admin('GET', '/internal/containers')).json<{
    containers: { id: string; expires_at: string }[];
  }>();
  const there = new Map(containers.map(({ id, expires_at }) => [id, Date.parse(expires_at)]));
  for (const [id, { isThere, expiresAt }] of acknowledged) {
    if (isThere === null) acknowledged.delete(id);
    else if (there.has(id) !== isThere) throw new Error(`${id} was acknowledged as ${isThere}; seed ${seed}`);
    else if (isThere) expect(there.get(id)).toBeGreaterThanOrEqual(expiresAt);
  }
}

/** Files of the gateway that a crash may leave, and a start must not. */
function leftovers(): string[] {
  return [...readdirSync(state()), ...readdirSync(state('run'))]
    .filter((name) => /\.tmp$|\.lock$/.test(name))
    .concat(readdirSync(state('spool')));
}

describe('a gateway that is killed again and again', () => {
  test('starts after being killed while it made its CA, and makes a whole one', async () => {
    for (const place of ['ca/ca.key', 'ca/ca.pem']) {
      rmSync(state(), { recursive: true, force: true });
      const starting = command.start(['up', '--json']);
      running.add(starting);
      await untilThere(state(place));
      await killed(starting);
      const gateway = await started(upWithWorkers(command));
      expect((await admin('POST', '/internal/containers', { id: 'asks', container_ip: '127.0.0.1' })).status).toBe(201);
      (await openTls(gateway, `${host}:443`, { caPath: gateway.caPath })).destroy();
      await killed(gateway);
    }
  }, 90_000);

  test('has every sandbox that was acknowledged and none that was taken back, and its journal verifies', async () => {
    const ca = readFileSync(state('ca', 'ca.pem'), 'utf8');
    let notes = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const gateway = await started(upWithWorkers(command));
      await expectWhatWasSaid();
      const verified = await verifyJournal(state('journal'));
      expect(verified.ok).toBe(true);
      expect(recoveredNotes()).toBeLessThanOrEqual(notes + 1);
      notes = recoveredNotes();
      expect(leftovers()).toEqual([]);
      expect(readFileSync(state('ca', 'ca.pem'), 'utf8')).toBe(ca);
      await workAndKill(gateway);
      // Never torn: as it lies there, not as a start would have put it right.
      expect(() => registeredIn(state('registry.json'))).not.toThrow();
      expect(await verifyJournal(state('journal'))).toMatchObject({ ok: true });
    }
    // An answer may reach its client a moment before its record reaches the file: one for each that asked, each time.
    const kept = journalLines(state('journal')).filter(
      ({ status, method }) => status === 200 && method === 'GET',
    ).length;
    expect(kept).toBeGreaterThanOrEqual(answered - kills * requestLoops);
  }, 120_000);

  test('and while it starts: the next start has all of it', async () => {
    for (let start = 0; start < 4; start++) {
      const starting = command.start(['up', '--json']);
      await sleep(5 + random() * 400);
      await killed(starting);
    }
    await started(upWithWorkers(command));
    await expectWhatWasSaid();
    expect(await verifyJournal(state('journal'))).toMatchObject({ ok: true, tornBytes: 0 });
    expect(leftovers()).toEqual([]);
  }, 90_000);

  test('with workers too', async () => {
    command.writeConfig({ ...policy, listen: { proxy: '127.0.0.1:0', workers: 2 } });
    const before = answered;
    await workAndKill(await started(upWithWorkers(command)));
    expect(() => registeredIn(state('registry.json'))).not.toThrow();
    await started(upWithWorkers(command));
    await expectWhatWasSaid();
    const verified = await verifyGateway(state('journal'));
    expect(verified).toMatchObject({ ok: true, tornBytes: 0, workers: [{ worker: 1 }, { worker: 2 }] });
    // What they serve is in journals of theirs, and as good as written when it is answered.
    const kept = listWorkerJournals(state('journal'))
      .flatMap(({ directory }) => journalLines(directory))
      .filter(({ status, method }) => status === 200 && method === 'GET').length;
    expect(kept).toBeGreaterThanOrEqual(answered - before - requestLoops);
    command.writeConfig(policy);
  }, 120_000);
});

test('a machine whose clock since its start is days ahead of ours makes no difference', async () => {
  const days = ['--monotonic', '864000', '--boottime', '864000', '--'];
  const gateway = await started(command.up(['unshare', '--time', ...days]));
  const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
  wire.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect((await wire.answer()).head).toContain('HTTP/1.1 200');
  wire.socket.destroy();
  await expectWhatWasSaid();
});

test('what stands in the way of a start is told, not removed', async () => {
  rmSync(state('run', 'admin.sock'), { force: true });
  mkdirSync(state('run', 'admin.sock'));
  const refused = command.start(['up', '--json']);
  await refused.ended;
  expect(refused.output()).toContain('is in the way and is not a socket');
  expect(existsSync(state('run', 'admin.sock'))).toBe(true);
});
