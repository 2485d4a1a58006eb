// Interfaces that somebody puts into the network of a sandbox are seen, in a real namespace.
import { afterEach, describe, expect, test } from 'vitest';
import { addedInterfaces } from '../../src/sandbox/namespace/process-namespaces.ts';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';

const send = 'import socket, sys; socket.socket(2, 2).sendto(b"in", (sys.argv[1], 9))';
const made: TestNamespace[] = [];
afterEach(async () => {
  for (const one of made.splice(0)) await one.end();
});

async function network(also = ':'): Promise<TestNamespace> {
  const one = await makeNamespace({ userNamespace: false, also });
  made.push(one);
  return one;
}

describe('interfaces that somebody has put into a network', () => {
  test('there are none to begin with, whatever goes over lo', async () => {
    const { pid, run } = await network();
    expect(await run(['python3', '-c', send, '127.0.0.1'])).toMatchObject({ code: 0 });
    expect(addedInterfaces(pid)).toEqual([]);
  });

  test('a cable by any name', async () => {
    const other = await network();
    const { pid } = await network(`ip link add eth7 type veth peer name far netns ${other.pid}`);
    expect(addedInterfaces(pid)).toEqual(['eth7']);
  });

  test('a cable under a name that the kernel itself uses, once anything has gone over it', async () => {
    const other = await network();
    const { pid, run } = await network(`ip link add ip6gre0 type veth peer name far netns ${other.pid}`);
    const up = 'ip link set $1 up; ip address add $2/24 dev $1';
    expect(await other.run(['sh', '-ec', up, 'sh', 'far', '192.0.2.2'])).toMatchObject({ code: 0 });
    expect(await run(['sh', '-ec', up, 'sh', 'ip6gre0', '192.0.2.1'])).toMatchObject({ code: 0 });
    expect(await other.run(['python3', '-c', send, '192.0.2.1'])).toMatchObject({ code: 0 });
    await expect.poll(() => addedInterfaces(pid)).toEqual(['ip6gre0']);
  });
});
