import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GrantParts, grantDoor } from '../../../../src/gateway/sandboxes/sandbox-grant.ts';
import { Doors } from '../../../../src/stages/accept/doors/doors.ts';
import { openGate } from '../../../support/hand-made-gate.ts';
import { openTestRegistry, type TestRegistry } from '../../../support/memory-registry.ts';

let folder: string;
let t: TestRegistry;
let doors: Doors;
let parts: GrantParts;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-grant-'));
  t = await openTestRegistry({ socketDirectory: folder });
  doors = new Doors({ ports: {} as never, gate: openGate });
  t.registry.onRemoved((id) => doors.cut(id));
  parts = { registry: t.registry, doors: doors as GrantParts['doors'] } as GrantParts;
});

afterEach(async () => {
  await doors.drain(0);
  t.registry.close();
  rmSync(folder, { recursive: true });
});

test('a sandbox that goes while its socket is being opened leaves no door behind, and its id is free', async () => {
  const { record } = await t.registry.register({ id: 'one', proof: ['socket'] });
  const granting = grantDoor(parts, record, null);
  await t.registry.remove('one');
  await expect(granting).rejects.toMatchObject({ code: 'door.socket' });
  expect(existsSync(record.socketPath!)).toBe(false);
  const again = await t.registry.register({ id: 'one', proof: ['socket'] });
  expect(await grantDoor(parts, again.record, null)).toEqual({ socket: record.socketPath });
});

test('a door that cannot be opened takes no other registration of the same id with it', async () => {
  const { record } = await t.registry.register({ id: 'one', proof: ['socket'] });
  const granting = grantDoor(parts, record, null);
  await t.registry.remove('one');
  const next = await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
  await expect(granting).rejects.toMatchObject({ code: 'door.socket' });
  expect(t.registry.find('one')).toBe(next.record);
});
