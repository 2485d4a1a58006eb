// Attack: a process in the sandbox that is not the agent calls the shim, to speak to the gateway as the sandbox.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  agentUid,
  curlAs,
  makeShimGround,
  otherUid,
  type RunningShim,
  runAs,
  type ShimGround,
} from '../../integration/shim-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { openPretendDoor, type PretendDoor } from '../../unit/sandbox/shim/pretend-door.ts';
import { makeIdentities } from '../../unit/sandbox/shim/pretend-identities.ts';

const identities = makeIdentities();
let ground: ShimGround;
let door: PretendDoor;
let shim: RunningShim;

beforeAll(async () => {
  ground = makeShimGround();
  door = await openPretendDoor(identities);
  const identity = ground.putIdentity(identities.identity());
  shim = await ground.start([
    ...['--gateway', `127.0.0.1:${door.port}`, '--identity', identity],
    ...['--for-uid', String(agentUid), '--listen', '127.0.0.1:0'],
  ]);
});
beforeEach(() => void door.seen.splice(0));
afterAll(async () => {
  await ground.remove();
  await door.close();
});

/** From an IPv6 socket: the kernel lists it in another table. */
const byIpv6 = (port: number): string => `
import socket
s = socket.create_connection(('::ffff:127.0.0.1', ${port}))
s.sendall(b'GET http://a.example/ HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n')
print(s.recv(4096).decode())`;

test('another uid is refused in words and never reaches the gateway, by either kind of socket; the agent does', async () => {
  expect(await curlAs(otherUid, shim.proxyUrl)).toMatch(/"error":"this shim does not serve uid 54323".* 403$/s);
  expect(await curlAs(0, shim.proxyUrl)).toMatch(/does not serve uid 0".* 403$/s);
  const call = ['/usr/bin/python3', '-c', byIpv6(shim.port)];
  expect((await runAs(otherUid, call)).stdout).toContain('403 Forbidden');
  expect(door.seen).toEqual([]);
  await eventually(() => shim.output().includes('does not serve uid 54323'), 'it is logged');

  expect(await curlAs(agentUid, shim.proxyUrl)).toMatch(/ 200$/);
  expect((await runAs(agentUid, call)).stdout).toContain('200 OK');
  expect(door.seen).toHaveLength(2);
});

test('who is refused again and again does not fill the log', async () => {
  const before = shim.output().length;
  const flood = `
import socket
for i in range(300):
    s = socket.create_connection(('127.0.0.1', ${shim.port}))
    assert b'403' in s.recv(4096)
    s.close()
print('done')`;
  expect((await runAs(otherUid, ['/usr/bin/python3', '-c', flood])).stdout).toBe('done\n');
  const lines = shim.output().slice(before).split('\n').length;
  expect(lines).toBeLessThanOrEqual(41);
  expect(await curlAs(agentUid, shim.proxyUrl)).toMatch(/ 200$/);
});
