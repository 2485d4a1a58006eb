import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readText } from '../../support/kubernetes-manifests.ts';
import { makePodGround, type PodGround, pod4, world4, world6 } from '../../support/pod-ground.ts';

const gateway = 10001;
const agent = 10002;
const rules = readText('sidecar', 'egress.nft');

const tcp = (address: string): string => `import socket; socket.create_connection(('${address}', 443), 0.4).close()`;
const udp = (address: string): string =>
  `import socket; socket.socket(socket.${address.includes(':') ? 'AF_INET6' : 'AF_INET'}, socket.SOCK_DGRAM).sendto(b'question', ('${address}', 53))`;
const ping = `import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); one.sendto(b'\\x08\\0\\0\\0\\0\\1\\0\\1', ('${world4}', 0))`;
const ping6 = `import socket
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6); one.sendto(b'\\x80\\0\\0\\0\\0\\1\\0\\1', ('${world6}', 0))`;
/** From one and the same port each time, and only when it was answered: so there is a conversation to go on with. */
const fromPort = (port: number, word: string): string => `import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.settimeout(2); one.bind(('${pod4}', ${port}))
one.sendto(b'${word}', ('${world4}', 53)); one.recv(99)`;

let pod: PodGround;

beforeAll(async () => {
  pod = await makePodGround();
});

afterAll(() => pod.end());

/** As the init container does it: root with NET_ADMIN and no other right. */
async function load(text: string): Promise<void> {
  await pod.setUp(['nft', 'flush', 'ruleset']);
  const { code, stderr } = await pod.setUp(['setpriv', '--bounding-set=-all,+net_admin', 'nft', '-f', '-'], text);
  expect([code, stderr]).toEqual([0, '']);
}

const attempts: readonly (readonly [what: string, program: string, packet: RegExp])[] = [
  ['a connection by IPv4', tcp(world4), /^packet 4 tcp 443$/],
  ['a connection by IPv6', tcp(world6), /^packet 6 tcp 443$/],
  ['a question to a name server by IPv4', udp(world4), /^packet 4 udp 53 question$/],
  ['a question to a name server by IPv6', udp(world6), /^packet 6 udp 53 question$/],
  ['a ping by IPv4', ping, /^packet 4 other 1$/],
  ['a ping by IPv6', ping6, /^packet 6 other 58$/],
];

describe('with the rules of deploy/kubernetes/sidecar/egress.nft in force', () => {
  beforeEach(() => load(rules));

  test.each(attempts)(
    '%s of the agent does not leave the pod, and one of the gateway does',
    async (_, program, packet) => {
      await pod.as(agent, program);
      expect(await pod.arrived()).toEqual([]);
      await pod.as(gateway, program);
      expect((await pod.arrived()).filter((line) => packet.test(line)).length).toBeGreaterThan(0);
    },
  );

  test('nor does one of any other user, root without rights included', async () => {
    for (const uid of [0, 10003, 65534]) await pod.as(uid, udp(world4));
    expect(await pod.arrived()).toEqual([]);
  });

  test('the agent cannot go on with a conversation that the gateway began, from the same port', async () => {
    await pod.as(gateway, fromPort(40_000, 'gateway'));
    await pod.as(agent, fromPort(40_000, 'agent'));
    expect(await pod.arrived()).toEqual(['packet 4 udp 53 gateway']);
  });

  test('what the gateway sent before it closed its socket arrives whole', async () => {
    const bytes = 20_000_000;
    const send = `import socket; one = socket.create_connection(('${world4}', 443)); one.sendall(bytes(${bytes})); one.close()`;
    expect((await pod.as(gateway, send)).code).toBe(0);
    await expect.poll(async () => await pod.arrived(), { timeout: 40_000 }).toContain(`whole ${bytes}`);
  });

  test('nobody outside reaches what the agent serves; the agent itself reaches its loopback', async () => {
    const serve = `import socket, sys
one = socket.socket(); one.bind(('', 8000)); one.listen(); print('ready', flush=True); sys.stdin.read()`;
    const server = pod.start(agent, serve);
    await once(server.stdout!, 'data');
    const dial = (address: string) => `import socket; socket.create_connection(('${address}', 8000), 0.4).close()`;
    try {
      expect((await pod.fromOutside(dial(pod4))).code).not.toBe(0);
      expect((await pod.as(agent, dial('127.0.0.1'))).code).toBe(0);
    } finally {
      const ended = once(server, 'exit');
      server.stdin!.end();
      await ended;
    }
  });

  test('nor can anybody outside tell it something, which without the rules they can', async () => {
    const listen = `import select, socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind(('', 9000)); print('ready', flush=True)
sys.stdin.read()
print(one.recv(99).decode() if select.select([one], [], [], 0)[0] else 'nothing', flush=True)`;
    const tell = `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'order', ('${pod4}', 9000))`;
    const heard = async (): Promise<string> => {
      const agents = pod.start(agent, listen);
      let text = '';
      agents.stdout!.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      const ended = once(agents, 'exit');
      await expect.poll(() => text).toContain('ready');
      expect((await pod.fromOutside(tell)).code).toBe(0);
      agents.stdin!.end();
      await ended;
      return text.replace('ready', '').trim();
    };
    expect(await heard()).toBe('nothing');
    await pod.setUp(['nft', 'flush', 'ruleset']);
    expect(await heard()).toBe('order');
  });

  test('the agent cannot change the rules', async () => {
    const remove = "import subprocess, sys; sys.exit(subprocess.run(['/usr/sbin/nft', 'flush', 'ruleset']).returncode)";
    expect((await pod.as(agent, remove)).code).not.toBe(0);
    expect((await pod.setUp(['nft', 'list', 'table', 'inet', 'sallyport_pod'])).code).toBe(0);
  });
});

describe('it is the rules that hold it', () => {
  test.each(attempts)('without them %s of the agent arrives', async (_, program, packet) => {
    await pod.setUp(['nft', 'flush', 'ruleset']);
    await pod.as(agent, program);
    expect((await pod.arrived()).filter((line) => packet.test(line)).length).toBeGreaterThan(0);
  });

  test('without the rule for everybody else, the agent goes on with a conversation of the gateway', async () => {
    const line = /^.*meta skuid != 10001 drop.*\n/m;
    expect(rules).toMatch(line);
    await load(rules.replace(line, ''));
    await pod.as(gateway, fromPort(40_001, 'gateway'));
    await pod.as(agent, fromPort(40_001, 'agent'));
    expect(await pod.arrived()).toEqual(['packet 4 udp 53 gateway', 'packet 4 udp 53 agent']);
  });
});
