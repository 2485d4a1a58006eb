// A container that somebody else started with `--network none`, and its door: nothing before it is registered, the real
// clients of its image after, and nothing again when the gateway has ended. With a real Docker daemon.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import {
  type ContainerGround,
  openContainerGround,
  refusalIn,
  type TestContainer,
} from '../support/container-ground.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';

const host = 'api.example.com';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let git: GitUpstream;
let ground: ContainerGround;
let gateway: TestGateway;
let container: TestContainer;
let registered: Record<string, unknown> & { id: string };

const policy = () => ({
  allow: [{ host }, { host: 'git.example.com' }],
  git: { hosts: ['git.example.com'] },
  credentials: {
    key: { hosts: [host], inject: { header: 'x-api-key' } },
    forge: { hosts: ['git.example.com'], inject: { basic: { username: 'bot' } } },
  },
  upstream: { resolve: { [host]: upstream.address, 'git.example.com': git.address }, ca: farCa.path },
});

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host], (_request, response) => response.end('from the far side'));
  git = await startGitUpstream(farCa, { 'git.example.com': 'bot:the-real-token' });
  ground = await openContainerGround();
  gateway = await ground.startGateway(policy());
  await gateway.setSecret('key', 'the-real-key');
  await gateway.setSecret('forge', 'the-real-token');
  container = await ground.startContainer('first', gateway, '--cap-drop', 'ALL');
});

afterAll(async () => {
  await ground?.stop();
  await upstream.close();
  await git.close();
});

const curl = (url: string, ...more: string[]): string => ['curl -sS -m 15', ...more, `'${url}'`].join(' ');

async function listedContainers(): Promise<string[]> {
  const reply = await gateway.admin('GET', '/internal/containers');
  return [...reply.body.matchAll(/"id":"([^"]+)"/g)].map((match) => match[1]!);
}

test('before it is registered it reaches nothing: no name, no address, no proxy', async () => {
  expect(await howItEnds(container)).toEqual(['ended 6', 'ended 7', 'ended 7']);
  expect(upstream.seen).toEqual([]);
});

describe('once it is registered, by its name alone', () => {
  beforeAll(async () => {
    registered = await gateway.register({ container_id: 'first', repos: ['owner/repo'] });
  });

  test('it is told the certificate that was mounted before it started, and its door', () => {
    expect(registered.grant).toMatchObject({
      ca_certificate: readFileSync(gateway.caPath, 'utf8'),
      proxy_url: 'http://127.0.0.1:3128',
      git_hosts: ['github.com', 'git.example.com'],
      credentials: ['key', 'forge'],
    });
    expect(registered).toMatchObject({ ...container.registration(), proof: ['socket'] });
  });

  test('its curl works unmodified, with a key it never held', async () => {
    for (const version of ['--http1.1', '--http2']) {
      const run = await container.exec(curl(`https://${host}/path`, version));
      expect(run).toEqual({ code: 0, stdout: 'from the far side', stderr: '' });
      expect(upstream.seen.at(-1)!.headers['x-api-key']).toBe('the-real-key');
    }
    const record = await eventually(
      async () => (await gateway.journal()).find((one) => one.path === '/path'),
      'a record',
    );
    expect(record).toMatchObject({ sandbox: registered.id, proof: ['socket'], destination: expect.any(String) });
  });

  test('its git clones and pushes', async () => {
    const bare = await git.create('owner/repo');
    await bare.commit({ branch: 'main', files: { 'a.txt': 'a text\n' } });
    const run = await container.exec(
      `cd /; git clone -q https://git.example.com/owner/repo.git work && cat work/a.txt
       git -C work push -q origin HEAD:sandbox/one && echo pushed
       git -C work push -q origin HEAD:other/one || echo kept back`,
    );
    expect(run.stdout).toBe('a text\npushed\nkept back\n');
    expect(await bare.git('rev-parse', 'sandbox/one')).toBe(await bare.git('rev-parse', 'main'));
  });

  test('the explicit proxy is there for tools that insist on one', async () => {
    const run = await container.exec(curl(`https://${host}/`, '-x http://127.0.0.1:3128'));
    expect(run.stdout).toBe('from the far side');
  });

  test('what it may not reach is refused in words: a host, an address over http and over https', async () => {
    expect(refusalIn(await container.exec(curl('https://elsewhere.example/')))).toBe('domain.not-allowed');
    for (const url of ['http://203.0.113.9/', 'https://203.0.113.9/', `https://${host}/`]) {
      const address = await container.exec(curl(url, `--resolve ${host}:443:203.0.113.9`));
      expect([address.code, refusalIn(address)]).toEqual([0, expect.stringMatching(/address/)]);
    }
    expect((await container.exec(curl('https://elsewhere.test/'))).code).toBe(6);
    expect((await container.exec(curl(`https://${host}:4443/`))).code).toBe(7);
  });

  test('any name server it asks is the door, over UDP and TCP', async () => {
    const resolver = 'nameserver 203.0.113.53';
    const run = await container.exec(`echo '${resolver}' > /etc/resolv.conf; ${curl(`https://${host}/`)}
      echo '${resolver}\noptions use-vc' > /etc/resolv.conf; ${curl(`https://${host}/`)}`);
    expect(run.stdout).toBe('from the far sidefrom the far side');
  });

  test('IPv6 leads nowhere where Docker has turned it off', async () => {
    const run = await container.exec(curl(`https://[2001:db8::9]/`, '-k'));
    expect([run.code, run.stdout]).toEqual([7, '']);
  });

  test('whoever is let in by docker exec comes through the same door', async () => {
    const run = await container.exec(curl(`https://${host}/exec`), '--user', '1234:1234');
    expect(run.stdout).toBe('from the far side');
  });
});

test('a container with IPv6 has its door there too', async () => {
  const six = await ground.startContainer('six', gateway, '--sysctl', 'net.ipv6.conf.all.disable_ipv6=0');
  await gateway.register(six.registration());
  expect((await six.exec(curl(`https://${host}/six`, '-6'))).stdout).toBe('from the far side');
  expect(refusalIn(await six.exec(curl('https://[2001:db8::9]/')))).toMatch(/address/);
});

describe('a container that', () => {
  test('is restarted has a new network: the old door is gone, and it is registered again', async () => {
    await ground.startContainer('again', gateway);
    const before = await ground.look('again');
    const { id } = await gateway.register(before.registration());
    await ground.dockerd.docker('restart', '--time', '0', 'again');
    const after = await ground.look('again');
    expect((await after.exec(curl(`https://${host}/`))).code).toBe(6);
    await eventually(async () => !(await listedContainers()).includes(id), 'it is unregistered');
    await gateway.register(after.registration());
    expect((await after.exec(curl(`https://${host}/`))).stdout).toBe('from the far side');
  });

  test('ends is unregistered without a word from anybody', async () => {
    await ground.startContainer('ends', gateway);
    const { id } = await gateway.register((await ground.look('ends')).registration());
    await ground.dockerd.docker('kill', 'ends');
    await eventually(async () => !(await listedContainers()).includes(id), 'it is unregistered');
  });
});

test('a container with our labels has its door by itself, and again after a restart', async () => {
  const labelling = await ground.startGateway({ ...policy(), credentials: {}, docker: { register_labelled: true } });
  await ground.startContainer('labelled', labelling, '--label', 'sallyport.repos=owner/repo');
  const served = async (): Promise<boolean> =>
    (await (await ground.look('labelled')).exec(curl(`https://${host}/`))).stdout === 'from the far side';
  await eventually(served, 'it is served');
  await ground.dockerd.docker('restart', '--time', '0', 'labelled');
  await eventually(served, 'it is served again');
});

test('a gateway that ends leaves no way out, and when it is back it serves the same container', async () => {
  const short = await ground.startGateway({ ...policy(), credentials: {} });
  const kept = await ground.startContainer('kept', short);
  await short.register(kept.registration());
  expect((await kept.exec(curl(`https://${host}/`))).stdout).toBe('from the far side');
  await short.gateway.stop();
  expect(await howItEnds(kept)).toEqual(['ended 6', 'ended 7', 'ended 7']);
  const log = createLog({ level: 'silent' });
  const back = await startGateway({ home: join(short.home, 'state'), config: short.configPath, log });
  try {
    // Who was there is not known any more: the door is opened for a registration.
    expect(await howItEnds(kept)).toEqual(['ended 6', 'ended 7', 'ended 7']);
    await back.admin.register(kept.registration());
    expect((await kept.exec(curl(`https://${host}/`))).stdout).toBe('from the far side');
  } finally {
    await back.stop();
  }
});

/** Three ways to the world, as curl ends on them: 6 is a name nobody knows, 7 a connection that is refused. */
async function howItEnds(of: TestContainer): Promise<string[]> {
  const ways = [curl(`https://${host}/`), curl('http://203.0.113.9/'), curl(`https://${host}/`, '-x 127.0.0.1:3128')];
  const { stdout } = await of.exec(ways.map((one) => `${one} 2>&1; echo "ended $?"`).join('\n'));
  return stdout.match(/ended \d+/g) ?? [];
}
