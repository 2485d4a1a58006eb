// A run gives the gateway that it joins its rights, and later the key of its sandbox's CA. Another user who sits at the end of the
// admin socket, or another user who would join, gets nothing.
import { chmodSync, chownSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RunGateway } from '../../../src/gateway/run-gateway.ts';
import { type Running, startFake } from '../../unit/gateway/admin/fake-ports.ts';

const nobody = 65534;
let uid = process.geteuid!();
let gateway: Running;

beforeEach(async () => {
  uid = process.geteuid!();
  gateway = await startFake({ identifyPeer: async () => ({ pid: 1, uid, gid: uid }) });
});

afterEach(() => gateway.stop());

const join = (): Promise<RunGateway> =>
  RunGateway.open({
    home: gateway.home,
    cwd: '/',
    entry: '/nowhere',
    ownPath: '',
    env: {},
    config: null,
    writable: [],
    any: true,
    say: () => {},
  });

describe('nothing is said to', () => {
  test('a socket in a folder that others can write to', async () => {
    chmodSync(`${gateway.home}/run`, 0o777);
    await expect(join()).rejects.toThrow(/open to other users/);
    expect(gateway.ports.joined).toBe(0);
  });

  test.runIf(process.geteuid?.() === 0)('a socket of another user', async () => {
    chownSync(gateway.socketPath, nobody, nobody);
    await expect(join()).rejects.toThrow(`belongs to user ${nobody}, not to you`);
    expect(gateway.ports.joined).toBe(0);
  });
});

test('another user does not join', async () => {
  uid = nobody;
  await expect(join()).rejects.toThrow(/only the owner of this admin socket and root/);
  expect(gateway.ports.joined).toBe(0);
  uid = process.geteuid!();
  await (await join()).leave();
});
