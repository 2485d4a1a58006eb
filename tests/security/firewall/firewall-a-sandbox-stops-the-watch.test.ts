// Must not happen: a sandbox with power over its own network makes its interfaces unreadable, so that nobody's pins are
// renewed any more: who has ended could still speak, who is registered could not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { portOfProcess } from '../../../src/sandbox/firewall/bridge-ports.ts';
import { makeNamespace, type TestNamespace } from '../../support/namespace.ts';

const mac = '02:00:00:00:00:0a';
const ports = [{ name: 'pa', index: 7, peerIndex: 8 }];

describe('what a sandbox calls its interfaces is its own affair', () => {
  let sandbox: TestNamespace;
  let host: TestNamespace;
  beforeAll(async () => {
    host = await makeNamespace({ userNamespace: false });
    sandbox = await makeNamespace({
      userNamespace: false,
      also: `ip link add eth0 address ${mac} index 8 type veth peer name pa index 7 netns ${host.pid}`,
    });
  });
  afterAll(async () => {
    await sandbox?.end();
    await host?.end();
  });

  test('its port is found, and with a control character in a name it is not, without an error', async () => {
    expect(await portOfProcess(sandbox.pid, mac, ports)).toBe('pa');
    const renamed = await sandbox.run(['sh', '-c', 'ip link set eth0 name "$(printf "a\\001b")"']);
    expect(renamed).toMatchObject({ code: 0 });
    expect(await portOfProcess(sandbox.pid, mac, ports)).toBeNull();
  });
});
