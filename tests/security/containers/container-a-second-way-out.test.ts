// Must not happen: a container gets another way out than its door and is still served, or gains anything by changing its
// own network with the capabilities that somebody gave it. With Docker's own networks, in a world of their own.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContainerGround, openContainerGround, type TestContainer } from '../../support/container-ground.ts';
import { startDockerWorld } from '../../support/docker-world.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { runClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import type { TestGateway } from '../../support/test-gateway.ts';

const host = 'api.example.com';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let ground: ContainerGround;
let gateway: TestGateway;
/** What a container must never reach: a service of this machine. */
let decoy: Server;
let decoyHits = 0;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host], (_request, response) => response.end('from the far side'));
  decoy = createServer((_request, response) => {
    decoyHits++;
    response.end('from the machine');
  });
  await new Promise<void>((resolve) => decoy.listen(0, '127.0.0.1', resolve));
  ground = await openContainerGround(startDockerWorld);
  gateway = await ground.startGateway({
    allow: [{ host }],
    upstream: { resolve: { [host]: upstream.address }, ca: farCa.path },
  });
  const made = await ground.dockerd.docker('network', 'create', '--internal', '--subnet', '172.30.7.0/24', 'side');
  expect(made.stderr).toBe('');
});

afterAll(async () => {
  await ground?.stop();
  await upstream.close();
  decoy.close();
});

const curl = `curl -sS -m 15 https://${host}/`;

async function isListed(id: string): Promise<boolean> {
  return (await gateway.admin('GET', '/internal/containers')).body.includes(`"${id}"`);
}

async function isCutOff(container: TestContainer, id: string): Promise<void> {
  await eventually(async () => !(await isListed(id)), 'it is unregistered');
  expect((await container.exec(`curl -sS -m 2 https://${host}/`)).code).not.toBe(0);
  const { stdout } = await runClient('nsenter', ['--target', String(container.pid), '--net', '--', 'ss', '-Hltun']);
  expect(stdout).not.toMatch(/:443\s/);
}

describe('a container that is given another network', () => {
  test('has no door to begin with', async () => {
    const wired = await ground.startContainer('wired', gateway);
    await ground.dockerd.docker('network', 'disconnect', 'none', 'wired');
    await ground.dockerd.docker('network', 'connect', 'side', 'wired');
    const reply = await gateway.admin('POST', '/internal/containers', wired.registration());
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(await isListed(wired.id)).toBe(false);
  });

  test('is not given it beside its door: Docker refuses that', async () => {
    const plain = await ground.startContainer('plain', gateway);
    const connected = await ground.dockerd.docker('network', 'connect', 'side', 'plain');
    expect(connected.stderr).toContain('private (none) mode');
    expect(plain.pid).toBeGreaterThan(1);
  });

  test('loses its door at once when it is given it in place of none', async () => {
    const moved = await ground.startContainer('moved', gateway);
    const { id } = await gateway.register(moved.registration());
    expect((await moved.exec(curl)).stdout).toBe('from the far side');
    await ground.dockerd.docker('network', 'disconnect', 'none', 'moved');
    const connected = await ground.dockerd.docker('network', 'connect', 'side', 'moved');
    expect(connected).toMatchObject({ code: 0, stderr: '' });
    await isCutOff(moved, id);
  });

  test('loses its door when an interface comes by any other hand', async () => {
    const touched = await ground.startContainer('touched', gateway);
    const { id } = await gateway.register(touched.registration());
    const add = ['ip', 'link', 'add', 'way-out', 'type', 'veth', 'peer', 'name', 'out-there'];
    await runClient('nsenter', ['--target', String(touched.pid), '--net', '--', ...add]);
    await isCutOff(touched, id);
  });
});

describe('a container with every say over its own network', () => {
  const tricks = [
    'ip route del local 0.0.0.0/0 dev lo',
    'ip route add default dev lo',
    'ip addr add 192.0.2.1/24 dev lo',
    'ip addr del 127.0.0.1/8 dev lo',
    'ip route replace local 0.0.0.0/0 dev lo',
    'ip link set lo down',
  ];

  test('can only cut itself off: nothing of the machine and no foreign address comes into reach', async () => {
    const mighty = await ground.startContainer('mighty', gateway, '--cap-add', 'NET_ADMIN', '--cap-add', 'NET_RAW');
    const { id } = await gateway.register(mighty.registration());
    const { port } = decoy.address() as AddressInfo;
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('from the machine');
    decoyHits = 0;
    const ways = [`http://127.0.0.1:${port}/`, `http://203.0.113.9:${port}/`, 'http://203.0.113.9/'];
    for (const trick of tricks) {
      const asked = ways.map((way) => `curl -sS -m 0.5 ${way} 2>/dev/null; echo "=== $?"`);
      const run = await mighty.exec([`${trick} || exit 9`, ...asked].join('\n'));
      expect(run.code, trick).toBe(0);
      const [decoy, foreign, door] = run.stdout.split('===');
      expect([decoy, foreign], trick).toEqual(['', expect.stringMatching(/^ (7|28)\n$/)]);
      // No answer, or a refusal of ours.
      expect(door, trick).toMatch(/^ (7|28)\n(.*"code":"target\.literal-address".*\n)?$/);
    }
    expect(decoyHits).toBe(0);
    expect(upstream.seen.every(({ url }) => url === '/')).toBe(true);
    // Registered again, its addresses are bound again.
    await gateway.admin('DELETE', `/internal/containers/${id}`);
    await gateway.register(mighty.registration());
    expect((await mighty.exec(curl)).stdout).toBe('from the far side');
  });

  test('loses its door by an interface that it makes itself', async () => {
    const maker = await ground.startContainer('maker', gateway, '--cap-add', 'NET_ADMIN');
    const { id } = await gateway.register(maker.registration());
    expect((await maker.exec('ip link add one type veth peer name two')).code).toBe(0);
    await isCutOff(maker, id);
  });
});
