// Sandboxes in namespaces: what they are to trust, and when their registration ends. The containers are pretend ones.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NamespaceSandboxes } from '../../src/gateway/sandboxes/namespace-sandboxes.ts';
import { Sweeper } from '../../src/kit/sweeper.ts';
import { Refusal } from '../../src/path/refusal.ts';
import { Doors } from '../../src/stages/accept/doors/doors.ts';
import { type Ca, openCa } from '../../src/stages/accept/tls/ca.ts';
import { makeRecord } from '../../src/stages/identify/registry/make-record.ts';
import { readRegistration } from '../../src/stages/identify/registry/registration.ts';
import type { SandboxRecord } from '../../src/stages/identify/registry/sandbox-record.ts';
import { eventually } from '../support/eventually.ts';
import { openGate } from '../support/hand-made-gate.ts';
import { handMadePolicy } from '../support/hand-made-policy.ts';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';
import { makePretendContainer, type PretendContainer } from '../support/pretend-container.ts';

let folder: string;
let ca: Ca;
let container: PretendContainer;
let plain: TestNamespace;
let doors: Doors;
let sandboxes: NamespaceSandboxes;
let removed: string[];
let reported: string[];
let registered: boolean;
const sweeper = new Sweeper();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-namespaces-'));
  ca = await openCa(join(folder, 'ca'));
});
afterAll(() => {
  sweeper.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  [container, plain] = await Promise.all([makePretendContainer(), makeNamespace()]);
  const times = { clientHeadTimeoutMs: 30_000, idleTimeoutMs: 60_000 };
  const silent = { ...times, headBytes: 65_536, requestBodyBytes: 0, carriesCredential: () => false };
  doors = new Doors({
    ports: {
      serve: () => null,
      admit: () => null,
      whyNot: () => new Refusal('domain.not-allowed', 'no'),
      tunnels: () => false,
      confirm: () => null,
      countQuestion: () => null,
      answersUnknown: () => false,
      contextFor: () => expect.fail('a namespace door has certificates of its own'),
      settings: () => ({ sweeper, ...silent }),
    },
    gate: openGate,
  });
  removed = [];
  reported = [];
  registered = true;
  sandboxes = new NamespaceSandboxes({
    doors,
    commonCa: ca,
    policy: () => handMadePolicy({ allow: [{ host: 'api.example.com' }] }),
    isRegistered: () => registered,
    unregister: async (id) => removed.push(id),
    report: (what, { id, change }) => reported.push(`${what}: ${id}: ${change}`),
    reserved: { whyNot: () => null },
    onFailure: (error) => expect.fail(String(error)),
  });
});
afterEach(async () => {
  sandboxes.stop();
  await doors.drain(0);
  await Promise.all([container.end(), plain.end()]);
});

function recordOf(registration: Record<string, unknown>): SandboxRecord {
  const asked = readRegistration(registration, { knownCredentials: new Map(), nowMs: Date.now() });
  return makeRecord(asked, folder, Date.now()).record;
}

const ofContainer = (): SandboxRecord =>
  recordOf({ id: 'boxed', container_id: container.id, namespace: { pid: container.pid } });

/** Whether a TLS client in the network believes the door, asking for a name or, without one, for the address it dials. */
async function believes(inside: Pick<TestNamespace, 'run'>, caPem: string, name?: string): Promise<boolean> {
  const file = join(folder, 'trusted.pem');
  writeFileSync(file, caPem);
  const [at, check] = ['203.0.113.9', name === undefined ? ['-noservername'] : ['-servername', name]];
  const checked = name === undefined ? ['-verify_ip', at] : ['-verify_hostname', name];
  const client = ['openssl', 's_client', '-connect', `${at}:443`, '-CAfile', file, '-verify_return_error'];
  return (await inside.run([...client, ...check, ...checked])).stdout.includes('Verify return code: 0 (ok)');
}

describe('what a sandbox is to trust at its door', () => {
  test('a container: the CA of the gateway, which it may have known before it started', async () => {
    expect(await sandboxes.open(ofContainer(), container.pid)).toEqual({ certificate: ca.certificatePem, ca: null });
    expect(await believes(container, ca.certificatePem, 'api.example.com')).toBe(true);
    // So that the refusal of a literal address can be read.
    expect(await believes(container, ca.certificatePem)).toBe(true);
  });

  test('any other: a CA of its own, and not that of the gateway', async () => {
    const own = await sandboxes.open(recordOf({ namespace: { pid: plain.pid } }), plain.pid);
    expect(own.ca?.certificate).toBe(own.certificate);
    expect(await believes(plain, own.certificate, 'api.example.com')).toBe(true);
    expect(await believes(plain, ca.certificatePem, 'api.example.com')).toBe(false);
  });
});

describe('no door is opened', () => {
  test('for a process that is not the container that was named', async () => {
    const record = recordOf({ container_id: 'f'.repeat(64), namespace: { pid: container.pid } });
    await expect(sandboxes.open(record, container.pid)).rejects.toThrow('is not one of the container ffffffffffff');
    expect(doors.namespaces).toBe(0);
  });

  test('for a container that was unregistered meanwhile', async () => {
    registered = false;
    await expect(sandboxes.open(ofContainer(), container.pid)).rejects.toThrow('gone before its door was open');
    expect((await container.run(['ss', '-Hltun'])).stdout).toBe('');
  });
});

describe('a sandbox is unregistered', () => {
  const soon = (): Promise<unknown> => eventually(() => removed.length > 0, 'it is unregistered');

  test('when its first process has ended, which is no news', async () => {
    await sandboxes.open(ofContainer(), container.pid);
    await container.end();
    await soon();
    expect([removed, reported]).toEqual([['boxed'], []]);
  });

  test('when its network gets an interface, and the operator is told which', async () => {
    await sandboxes.open(ofContainer(), container.pid);
    await container.run(['ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth1']);
    await soon();
    expect(removed).toEqual(['boxed']);
    expect(reported).toEqual([expect.stringMatching(/^a sandbox was unregistered: .*: boxed: .* \(eth1, eth0\)$/)]);
  });

  test('when its first process has moved to another network, where nobody would see an interface of the first', async () => {
    await sandboxes.open(ofContainer(), container.pid);
    await container.moveAway();
    await soon();
    expect(reported).toEqual([expect.stringContaining('moved to another network')]);
  });

  test('not while all is as it was, and not once it was forgotten', async () => {
    await sandboxes.open(ofContainer(), container.pid);
    await sandboxes.open(recordOf({ id: 'plain', namespace: { pid: plain.pid } }), plain.pid);
    sandboxes.forget('plain');
    await plain.end();
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect([removed, reported]).toEqual([[], []]);
  });
});
