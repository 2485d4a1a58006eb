// Attack: the agent sits beside the shim and wants its key: from the file, from the memory of the process, from its
// descriptors, by stopping it under a debugger, or by having it started as the agent's own uid.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  agentUid,
  curlAs,
  makeShimGround,
  type RunningShim,
  runAs,
  type ShimGround,
  shimUid,
} from '../../integration/shim-ground.ts';
import { openPretendDoor, type PretendDoor } from '../../unit/sandbox/shim/pretend-door.ts';
import { makeIdentities } from '../../unit/sandbox/shim/pretend-identities.ts';

const identities = makeIdentities();
/** Not by PATH: the first one there may be out of reach for other users. */
const python = '/usr/bin/python3';
let ground: ShimGround;
let door: PretendDoor;
let shim: RunningShim;
let identity: string;
let options: string[];

beforeAll(async () => {
  ground = makeShimGround();
  door = await openPretendDoor(identities);
  identity = ground.putIdentity(identities.identity());
  options = ['--gateway', `127.0.0.1:${door.port}`, '--identity', identity, '--listen', '127.0.0.1:0'];
  shim = await ground.start([...options, '--for-uid', String(agentUid)]);
});
afterAll(async () => {
  await ground.remove();
  await door.close();
});

const openMemory = (pid: number): string => `
print('began', flush=True)
open('/proc/${pid}/mem', 'rb')`;

const attach = (pid: number): string => `
import ctypes, os, sys
print('began', flush=True)
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(0 if libc.ptrace(16, ${pid}, 0, 0) == 0 else 'refused: ' + os.strerror(ctypes.get_errno()))`;

describe('the agent comes at the key', () => {
  test.each([
    ['by its file', () => ['cat', join(identity, 'key.pem')]],
    ['by the list of the folder', () => ['ls', identity]],
    ['by the environment of the process', () => ['cat', `/proc/${shim.pid}/environ`]],
    ['by its descriptors', () => ['ls', '-l', `/proc/${shim.pid}/fd/`]],
    ['by its map of memory', () => ['cat', `/proc/${shim.pid}/maps`]],
    ['by its view of the files', () => ['ls', `/proc/${shim.pid}/root/`]],
    ['by its memory', () => [python, '-c', openMemory(shim.pid)]],
    ['by a debugger', () => [python, '-c', attach(shim.pid)]],
    ['by the signal that opens its inspector', () => ['sh', '-c', `kill -USR1 ${shim.pid}`]],
  ])('%s: refused by the kernel', async (_way, command) => {
    const { code, stdout, stderr } = await runAs(agentUid, command());
    expect(code).not.toBe(0);
    expect(`${stdout}${stderr}`).toMatch(/permission denied|operation not permitted/i);
    // It was the attempt that was refused, and not the program.
    if (command()[0] === python) expect(stdout).toBe('began\n');
    else expect(stdout).toBe('');
  });

  test('the same ways are open to the uid of the shim, so that it is the uid that closes them', async () => {
    expect((await runAs(shimUid, ['cat', join(identity, 'key.pem')])).stdout).toContain('PRIVATE KEY');
    expect((await runAs(shimUid, ['cat', `/proc/${shim.pid}/environ`])).code).toBe(0);
    expect((await runAs(shimUid, ['ls', '-l', `/proc/${shim.pid}/fd/`])).code).toBe(0);
    expect((await runAs(shimUid, ['cat', `/proc/${shim.pid}/maps`])).code).toBe(0);
  });

  test('and nothing that the shim says holds any of it', async () => {
    expect(await curlAs(agentUid, shim.proxyUrl)).toMatch(/ 200$/);
    const secret = readFileSync(join(identity, 'key.pem'), 'utf8').split('\n').slice(1, -2);
    const cmdline = (await runAs(agentUid, ['cat', `/proc/${shim.pid}/cmdline`])).stdout;
    for (const line of secret) expect(`${shim.output()}${cmdline}`).not.toContain(line);
  });
});

describe('a shim whose key the agent could read does not start', () => {
  test.each([
    ['as the uid it serves', agentUid, agentUid, 'could then read its key'],
    ['as root', 0, agentUid, 'does not run as root'],
    ['with a key of another uid', 54_399, agentUid, 'cannot be read|other users can write'],
  ])('%s', async (_how, uid, serves, words) => {
    const { code, stdout, stderr } = await ground.refused([...options, '--for-uid', String(serves)], uid);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(words));
  });

  test('on an address that others can call', async () => {
    const given = [...options, '--for-uid', String(agentUid), '--listen', '0.0.0.0:0'];
    expect(await ground.refused(given)).toMatchObject({ code: 2, stderr: expect.stringContaining('loopback only') });
  });
});
