import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Accepted, Caller, Identified } from '../../../src/path/flow.ts';
import type { Stage } from '../../../src/path/stage.ts';
import { createIdentifyStage } from '../../../src/stages/identify/identify-stage.ts';
import { eventually } from '../../support/eventually.ts';
import { startStreamingUpstream } from '../../support/fake-upstream.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf } from '../../support/hand-made-flow.ts';
import { openTestRegistry, type TestRegistry } from '../../support/memory-registry.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openHttp2, openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let t: TestRegistry;
let stage: Stage<Accepted, Identified>;
const caller: Caller = callerFrom({ address: '172.18.0.5' });

beforeEach(async () => {
  t = await openTestRegistry();
  stage = createIdentifyStage(t.registry);
});

afterEach(() => t.registry.close());

function run(): string {
  const flow = acceptedFlow(caller, canonicalOf('GET', 'https://api.example.com/'));
  return (stage.run(flow) as Identified).sandbox.id;
}

describe('what a connection was once recognised as does not outlive the registration', () => {
  test('after it is removed', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    expect(run()).toBe('one');
    await t.registry.remove('one');
    expect(refusalOf(run).code).toBe('sandbox.unknown');
  });

  test('after its address was given to another sandbox', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    run();
    await t.registry.remove('one');
    await t.registry.register({ id: 'two', container_ip: '172.18.0.5' });
    expect(run()).toBe('two');
  });

  test('after the same id was registered again with more proofs', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5' });
    run();
    await t.registry.remove('one');
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    expect(refusalOf(run).code).toBe('sandbox.proof-missing');
  });

  test('after it has expired: told once, then it is unknown, however busy it was', async () => {
    const gone: string[] = [];
    t.registry.onRemoved((id) => gone.push(id));
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', expires_at: '2026-01-01T01:00:00Z' });
    for (let i = 0; i < 59; i++) {
      t.clock.advance(60_000);
      expect(run()).toBe('one');
    }
    t.clock.advance(60_000);
    expect(refusalOf(run)).toMatchObject({ code: 'sandbox.expired', status: 403 });
    expect(refusalOf(run)).toMatchObject({ code: 'sandbox.unknown', status: 403 });
    expect(gone).toEqual(['one']);
  });

  test('a new connection after the end is told the same', async () => {
    await t.registry.register({ id: 'one', container_ip: '172.18.0.5', expires_at: '2026-01-01T01:00:00Z' });
    t.clock.advance(3_600_000);
    expect(refusalOf(run).code).toBe('sandbox.expired');
    expect(refusalOf(run).code).toBe('sandbox.unknown');
  });
});

describe('what a sandbox has open is cut when it is removed, in the middle of an answer', () => {
  const host = 'far.example';
  const pinned = 'pinned.example';
  const ca = makeTestCa();
  let gateway: TestGateway;
  let closeUpstream: () => Promise<void>;
  let openAtFarSide = 0;

  beforeAll(async () => {
    const upstream = await startStreamingUpstream(ca, [host, pinned], (_request, response) => {
      openAtFarSide++;
      response.on('close', () => openAtFarSide--);
      response.writeHead(200);
      response.write('beginning');
    });
    closeUpstream = () => upstream.close();
    gateway = await startTestGateway({
      allow: [{ host }, { host: pinned, tunnel: true }],
      upstream: { resolve: { [host]: upstream.address, [pinned]: upstream.address }, ca: ca.path },
    });
  });

  afterAll(async () => {
    await gateway.stop();
    await closeUpstream();
  });

  async function begun(name: string, caPath: string): Promise<Wire> {
    const wire = new Wire(await openTls(gateway, `${name}:443`, { caPath }));
    wire.send(`GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
    return wire;
  }

  test.each<[string, () => Promise<Wire>]>([
    ['a connection that is decrypted', () => begun(host, gateway.caPath)],
    ['an undecrypted tunnel', () => begun(pinned, ca.path)],
    [
      'a stream of HTTP/2',
      async () => {
        const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
        session.on('error', () => {});
        return new Wire(session.request({ ':path': '/' }));
      },
    ],
  ])('%s, and nobody else', async (_, open) => {
    const { id } = await gateway.register();
    const wire = await open();
    await wire.until('beginning');
    expect(openAtFarSide).toBe(1);
    // Another one goes, and this stays.
    const other = await gateway.register({ container_ip: '127.0.0.2' });
    expect((await gateway.admin('DELETE', `/internal/containers/${other.id}`)).status).toBe(204);
    expect([wire.ended, openAtFarSide]).toEqual(['open', 1]);
    expect((await gateway.admin('DELETE', `/internal/containers/${id}`)).status).toBe(204);
    await eventually(() => wire.ended !== 'open', 'the connection of the sandbox is cut', 5_000);
    await eventually(() => openAtFarSide === 0, 'the far side is let go of', 5_000);
    wire.socket.destroy();
  });
});
