import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  anthropicKey,
  type ComposeGround,
  githubToken,
  openComposeGround,
  places,
  sandboxNetwork,
} from '../../support/compose-ground.ts';
import { type PretendResolver, startResolver } from '../../support/compose-internet.ts';
import type { StartedClient } from '../../support/run-client.ts';

const subnet = '172.30.7.0/24';
const plain = '172.31.9.0/24';
const services = ['witness', 'gateway', 'sandbox'];
let ground: ComposeGround;
let resolver: PretendResolver;
let hostService: StartedClient;

beforeAll(async () => {
  ground = await openComposeGround({ environment: { SALLYPORT_SUBNET: subnet } });
  const { world } = ground;
  resolver = await startResolver(world);
  hostService = world.start('node', ['-e', hostServiceSource], { timeoutMs: 170_000 });
  await hostService.stdout.until('ready');
  await world.docker('network', 'create', '--internal', '--subnet', plain, 'plain');
  await ground.up();
  await ground.sandboxReady();
}, 180_000);

afterAll(async () => {
  hostService?.kill();
  resolver?.end();
  await ground?.stop();
}, 120_000);

/** What a host has on all its addresses. */
const hostServiceSource = `require('node:http').createServer((_request, response) => response.end('the host\\n'))
  .listen(8000, '0.0.0.0', () => console.log('ready'))`;

/** A container that nobody registered. */
async function stranger(network: string, script: string, ...options: string[]): Promise<string> {
  const words = ['--rm', '--network', network, ...options, '--entrypoint', 'sh', 'sallyport-sandbox', '-c', script];
  const run = await ground.world.docker('run', ...words);
  return run.stdout + run.stderr;
}

/** Straight to each address, past every proxy variable, all at once: the addresses that answered. */
const straightTo = (urls: readonly string[]): string =>
  `${urls.map((url) => `(curl -sk -o /dev/null --noproxy '*' --max-time 4 -g '${url}' ; case $? in 0|52|56) echo 'reached ${url}';; esac) &`).join(' ')} wait; echo tried`;

const inspect = async (service: string, template: string): Promise<string> =>
  (await ground.world.docker('inspect', '--format', template, `port_${service}_1`)).stdout.trim();

describe('a sandbox of the composition has one way out', () => {
  const farAway = Object.values(places).map((address) => `https://${address}/`);

  test('not the addresses of the internet, which a container on the other network does reach', async () => {
    expect((await ground.inSandbox(straightTo(farAway))).stdout).toBe('tried\n');
    const reached = await stranger('port_egress', straightTo(farAway));
    for (const url of farAway) expect(reached).toContain(`reached ${url}`);
  });

  test('not the host, by any address it has: on a network that is only internal it is in reach', async () => {
    const all = (await ground.world.run('ip', ['-o', 'address'])).stdout;
    const addresses = [...all.matchAll(/inet (?!127\.)([\d.]+)/g)].map(([, address]) => address!);
    const urls = [...addresses, subnet.replace('0/24', '1')].map((address) => `http://${address}:8000/`);
    const byLink = [...all.matchAll(/inet6 (fe80:[\da-f:]+)/g)].map(
      ([, address]) => `http://[${address}%25eth0]:8000/`,
    );
    expect(urls.length).toBeGreaterThan(4);
    expect((await ground.inSandbox(straightTo([...urls, ...byLink]))).stdout).toBe('tried\n');
    const own = plain.replace('0/24', '1');
    expect(await stranger('plain', straightTo([`http://${own}:8000/`]))).toContain('reached');
  });

  test("not a question to the host's resolver, which a container without `dns` does reach", async () => {
    const looked = await ground.inSandbox('getent hosts secret-words.example; getent hosts gateway; echo looked');
    expect(looked.stdout).toMatch(/^172\.30\.7\.\d+ +gateway\nlooked\n$/);
    await stranger(sandboxNetwork, 'getent hosts leaked.example');
    expect(resolver.asked()).toContain('leaked.example');
    expect(resolver.asked()).not.toContain('secret-words');
  });

  test('not the door, for a container on the network that has no labels', async () => {
    const [proxy, transparent] = ['http://gateway:8080', 'http://gateway'];
    const said = await stranger(
      sandboxNetwork,
      `curl -s -w '%{http_connect}\\n' --proxy ${proxy} https://api.github.com/user; curl -s --proxy ${proxy} http://api.github.com/user; curl -s -H 'Host: api.github.com' ${transparent}/user`,
    );
    expect(said).toMatch(/^403\n/);
    expect(said.match(/"sandbox\.unknown"/g)).toHaveLength(2);
  });

  test('not by labels on another network', async () => {
    const { world } = ground;
    const words = ['--network', 'port_egress', '--label', 'sallyport.repos=acme/other', '--entrypoint', 'sleep'];
    await world.docker('run', '--detach', '--rm', '--name', 'elsewhere', ...words, 'sallyport-sandbox', '60');
    // Where it is taken for a sandbox, that takes some hundredths of a second.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const records = JSON.parse((await ground.inGateway(['list', '--json'])).stdout) as { repos: string[] }[];
    expect(records.map(({ repos }) => repos)).toEqual([['acme/widgets']]);
    await world.docker('kill', 'elsewhere');
  });
});

describe('nobody has more than they need', () => {
  test.each(services)('%s runs without capabilities on a file system it cannot write to', async (service) => {
    const rights =
      '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}} {{.HostConfig.Privileged}} {{.NetworkSettings.Ports}}';
    expect(await inspect(service, rights)).toBe('true [ALL] [no-new-privileges:true] false map[]');
    const user = { witness: '0:10001', gateway: '10001:10001', sandbox: '10002:10002' }[service];
    expect(await inspect(service, '{{.Config.User}}')).toBe(user);
    const tried = await ground.world.docker(
      'exec',
      `port_${service}_1`,
      'sh',
      '-c',
      'touch /x /etc/x /usr/x; cat /proc/self/status',
    );
    expect(tried.stderr.match(/Read-only file system/g)).toHaveLength(3);
    expect(tried.stdout).toMatch(/^CapBnd:\t0+$/m);
    expect(tried.stdout).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('the sandbox sees what was handed over and cannot change it; neither sockets nor state of others', async () => {
    const mounts = (await inspect('sandbox', '{{range .Mounts}}{{.Destination}} {{.RW}},{{end}}')).split(',').sort();
    expect(mounts).toEqual(['', '/etc/sallyport false', '/home/sandbox true', '/workspace true']);
    const tried = await ground.inSandbox(
      'echo mine > /etc/sallyport/ca.pem; rm -f /etc/sallyport/bundle.pem; find / -type s 2>/dev/null',
    );
    expect(tried.stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(tried.stdout).toBe('');
  });

  test('the gateway has a view of Docker, and cannot do anything with it', async () => {
    const ask = (method: string, path: string): string =>
      `require('node:http').request({ socketPath: '/run/witness/docker.sock', method: '${method}', path: '${path}' }, (answer) => { console.log(answer.statusCode); answer.resume(); }).end()`;
    const asked = async (method: string, path: string): Promise<string> =>
      (await ground.world.docker('exec', 'port_gateway_1', 'node', '-e', ask(method, path))).stdout;
    expect(await asked('GET', '/containers/json')).toBe('200\n');
    expect(await asked('POST', '/containers/create')).toBe('403\n');
    expect(await inspect('gateway', '{{range .Mounts}}{{.Destination}} {{end}}')).not.toContain('/var/run');
  });

  test('no credential is where `docker inspect` or the sandbox could show it', async () => {
    await ground.inGateway(['secret', 'set', 'anthropic'], anthropicKey);
    const shown = (await ground.world.docker('inspect', ...services.map((name) => `port_${name}_1`))).stdout;
    const inside = (await ground.inSandbox('env; cat /proc/[0-9]*/environ')).stdout;
    for (const text of [shown, inside]) {
      expect(text).toContain('sallyport-placeholder');
      expect(text).not.toContain(githubToken);
      expect(text).not.toContain(anthropicKey);
    }
  });

  test('a gateway with a credential in its environment does not start, and names it without its value', async () => {
    const run = await ground.world.docker(
      'run',
      '--rm',
      '--network',
      'none',
      '--env',
      `GITHUB_TOKEN=${githubToken}`,
      'sallyport-gateway',
      'up',
      '--refuse-credential-variables',
    );
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('looks like credentials: GITHUB_TOKEN.');
    expect(run.stdout + run.stderr).not.toContain(githubToken);
  });
});

describe('with the gateway stopped', () => {
  test('nothing gets out, and a sandbox that starts says why it does not', async () => {
    await ground.compose('stop', '-t', '3', 'gateway');
    ground.github.forget();
    const tried = await ground.inSandbox(
      `curl -sS --max-time 5 https://api.github.com/user; curl -sS --noproxy '*' --max-time 3 --resolve api.github.com:443:${places.github} https://api.github.com/user`,
    );
    expect(tried.code).not.toBe(0);
    expect(tried.stdout).toBe('');
    expect(ground.github.seen).toEqual([]);
    const started = await ground.world.docker(
      'run',
      '--rm',
      '--network',
      sandboxNetwork,
      '--env',
      'SALLYPORT_WAIT_SECONDS=1',
      'sallyport-sandbox',
      'echo',
      'started',
    );
    expect(started).toMatchObject({ code: 69, stdout: '' });
    expect(started.stderr).toContain('the gateway has put no CA certificate at /etc/sallyport/ca.pem');
  });
});
