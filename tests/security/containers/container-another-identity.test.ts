// Must not happen: a container is taken for another, or for one that was registered. Each has the door in its own network
// and no other; who is not registered has none; a number of a process that was another's is nobody's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { type ContainerGround, openContainerGround, type TestContainer } from '../../support/container-ground.ts';
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
let rich: TestContainer;
let poor: TestContainer;
let stranger: TestContainer;
let ids: { readonly rich: string; readonly poor: string };

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host], (_request, response) => response.end('from the far side'));
  ground = await openContainerGround();
  gateway = await ground.startGateway({
    allow: [{ host }],
    credentials: { key: { hosts: [host], inject: { header: 'x-api-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: farCa.path },
  });
  await gateway.setSecret('key', 'the-real-key');
  rich = await ground.startContainer('rich', gateway);
  poor = await ground.startContainer('poor', gateway);
  stranger = await ground.startContainer('stranger', gateway);
  ids = {
    rich: (await gateway.register({ ...rich.registration(), credentials: ['key'] })).id,
    poor: (await gateway.register({ ...poor.registration(), credentials: [] })).id,
  };
});

afterAll(async () => {
  await ground?.stop();
  await upstream.close();
});

const curl = (path: string, more = ''): string => `curl -sS -m 15 ${more} https://${host}${path}`;

describe('a container is the one whose door it came through', () => {
  test('each gets what is its own', async () => {
    expect((await rich.exec(curl('/rich'))).stdout).toBe('from the far side');
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBe('the-real-key');
    expect((await poor.exec(curl('/poor'))).stdout).toBe('from the far side');
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBeUndefined();
    const records = await eventually(async () => {
      const all = (await gateway.journal()).filter((one) => one.path === '/rich' || one.path === '/poor');
      return all.length === 2 ? all : null;
    }, 'two records');
    expect(records.map((one) => [one.path, one.sandbox])).toEqual([
      ['/rich', ids.rich],
      ['/poor', ids.poor],
    ]);
  });

  test('saying to be another changes nothing', async () => {
    await poor.exec(curl('/claim', `-x http://${ids.rich}:secret@127.0.0.1:3128`));
    await poor.exec(
      curl('/claim', `-H 'Proxy-Authorization: Basic ${Buffer.from(`${ids.rich}:x`).toString('base64')}'`),
    );
    for (const { url, headers } of upstream.seen) if (url === '/claim') expect(headers['x-api-key']).toBeUndefined();
    const claims = (await gateway.journal()).filter((one) => one.path === '/claim');
    expect(claims.length).toBeGreaterThan(0);
    for (const record of claims) expect(record.sandbox).toBe(ids.poor);
  });

  test('one CA for both, and yet a TLS session of one is not taken up at the door of the other', async () => {
    const script = `
const tls = require('node:tls');
const [at, session] = [process.argv[1], process.argv[2]];
const socket = tls.connect({ host: at, port: 443, servername: '${host}', rejectUnauthorized: false,
  ...(session === undefined ? {} : { session: Buffer.from(session, 'base64') }) });
socket.on('session', (given) => { if (session === undefined) { console.log(given.toString('base64')); process.exit(); } });
socket.on('secureConnect', () => { if (session !== undefined) { console.log(socket.isSessionReused()); process.exit(); } });`;
    const dial = async ({ pid }: TestContainer, ...more: string[]): Promise<string> => {
      const node = [process.execPath, '-e', script, syntheticAddresses(host).v4, ...more];
      return (await runClient('nsenter', ['--target', String(pid), '--net', '--', ...node])).stdout.trim();
    };
    const [session] = (await dial(rich)).split('\n');
    expect(session!.length).toBeGreaterThan(100);
    expect(await dial(rich, session!)).toBe('true');
    expect(await dial(poor, session!)).toBe('false');
  });
});

describe('a container that is not registered', () => {
  test('has nothing, while others are served beside it', async () => {
    const before = upstream.seen.length;
    const run = await stranger.exec(`${curl('/')}; echo "ended $?"
      curl -sS -m 5 http://203.0.113.9/; echo "ended $?"; ${curl('/', '-x http://127.0.0.1:3128')}; echo "ended $?"`);
    expect(run.stdout).toBe('ended 6\nended 7\nended 7\n');
    expect(upstream.seen.length).toBe(before);
  });

  test("is not let in under the id of another: the process must be that container's", async () => {
    const claimed = { ...stranger.registration(), container_id: rich.id };
    const reply = await gateway.admin('POST', '/internal/containers', claimed);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect((await stranger.exec(curl('/'))).code).toBe(6);
    expect((await gateway.admin('GET', '/internal/health')).json()).toMatchObject({ sandboxes: 2 });
  });
});

describe('a container that shares the network of another by Docker', () => {
  test('is that other, as Docker made it: it has the same door and the same rights, and ends them by nothing', async () => {
    const shared = ['run', '--rm', '--network', `container:${poor.name}`, 'tools:1', 'sh', '-c'];
    const run = await ground.dockerd.docker(...shared, curl('/shared', '-k'));
    expect(run.stdout).toBe('from the far side');
    const record = (await gateway.journal()).find((one) => one.path === '/shared');
    expect(record).toMatchObject({ sandbox: ids.poor });
    expect(upstream.seen.at(-1)!.headers['x-api-key']).toBeUndefined();
    expect((await poor.exec(curl('/still'))).stdout).toBe('from the far side');
  });
});
