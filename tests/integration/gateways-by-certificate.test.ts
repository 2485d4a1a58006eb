import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PlainUpstream, plainHost, startPlainUpstream } from '../support/plain-upstream.ts';
import { RedisServer } from '../support/redis-server.ts';
import { runClient } from '../support/run-client.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

interface Identity {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

let upstream: PlainUpstream;
let config: Record<string, unknown>;
let folder: string;
const gateways: TestGateway[] = [];

beforeAll(async () => {
  const redis = await RedisServer.start();
  upstream = await startPlainUpstream();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-identity-'));
  const listen = { proxy: '127.0.0.1:0', mtls: '127.0.0.1:0' };
  config = { ...upstream.policy, listen, store: `redis://127.0.0.1:${redis.port}` };
  gateways[0] = await startTestGateway(config);
  gateways[1] = await startTestGateway(config, gateways[0]);
});

afterAll(async () => {
  for (const gateway of gateways.reverse()) await gateway.stop();
  await upstream.close();
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe('gateways of one store know sandboxes by certificate', () => {
  test('registered at one, served by the other; unregistered there, by none', async () => {
    const { grant } = await gateways[0]!.register({ id: 'one', proof: ['mtls'] });
    const { identity } = grant as { identity: Identity };
    const ask = async (gateway: TestGateway): Promise<string> => {
      const port = /mtls 127\.0\.0\.1:(\d+)/.exec(gateway.gateway.summary.doors.join())![1];
      const door = `door.sallyport.internal:${port}`;
      const { stdout } = await runClient('curl', [
        ...['-sS', '-m', '30', '--resolve', `${door}:127.0.0.1`, '--proxy', `https://${door}`],
        ...['--proxy-cacert', write('ca.pem', identity.ca), '--proxy-cert', write('cert.pem', identity.certificate)],
        ...['--proxy-key', write('key.pem', identity.key), `http://${plainHost}/`],
      ]);
      return stdout;
    };
    expect(await ask(gateways[0]!)).toBe('answer');
    expect(await ask(gateways[1]!)).toBe('answer');
    expect((await gateways[1]!.admin('DELETE', '/internal/containers/one')).status).toBe(204);
    for (const gateway of gateways) expect(await ask(gateway)).toContain('sandbox.unknown');
  });

  test('one that would not know those of the others does not start, and is told what to copy', async () => {
    rmSync(join(gateways[1]!.home, 'state', 'identity-ca'), { recursive: true });
    await expect(startTestGateway(config, gateways[1])).rejects.toThrow(/copy the folder identity-ca\//);
  });
});

describe('a store is chosen at the start', () => {
  test('another one in a configuration that is read later is a warning; what holds at once is none', async () => {
    const [gateway] = gateways;
    const warnings = async () =>
      (await gateway!.admin('GET', '/internal/health')).json<{ warnings: string[] }>().warnings;
    const reloadWith = async (store: unknown) => {
      gateway!.writeConfig({ ...config, store });
      await gateway!.gateway.reload();
      return (await warnings()).filter((text) => text.startsWith('store has changed'));
    };
    expect(await reloadWith({ url: config.store, grace_seconds: 7, shared_addresses: true })).toEqual([]);
    expect(await reloadWith({ url: 'redis://127.0.0.1:1/0' })).toEqual([expect.stringContaining('restarted')]);
    expect(await reloadWith({ url: config.store, prefix: 'other:' })).toHaveLength(1);
    expect(await reloadWith(config.store)).toEqual([]);
  });
});
