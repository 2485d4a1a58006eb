// The configuration is rewritten again and again, well and badly, in every way that people and programs write files, while
// requests stream: none of them fails, none meets half a policy, nothing is left open, and the last one is in force.
import { lstatSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const always = 'always.example';
const never = 'never.example';
const rewrites = 200;
const { random, seed } = seededRandom();
let gateway: TestGateway;
let close: () => Promise<void>;
let seen = 0;
let policy: (path: string) => string;

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [always, never], (request, response) => {
    if (request.headers.host === never || request.headers[':authority'] === never) seen++;
    response.end('answer');
  });
  close = upstream.close;
  const document = {
    allow: [{ host: always, paths: ['/always'] }],
    upstream: { resolve: { [always]: upstream.address, [never]: upstream.address }, ca: ca.path },
  };
  policy = (path) =>
    stringify({
      version: 1,
      listen: { proxy: '127.0.0.1:0' },
      ...document,
      allow: [...document.allow, { host: always, methods: ['GET'], paths: [path] }],
    });
  gateway = await startTestGateway(document);
  await gateway.register();
  console.log(`seed of the storm: ${seed}`);
});

afterAll(async () => {
  await gateway.stop();
  await close();
});

async function open(): Promise<Wire> {
  return new Wire(await openTls(gateway, `${always}:443`, { caPath: gateway.caPath }));
}

async function get(wire: Wire, path: string): Promise<number> {
  wire.send(`GET ${path} HTTP/1.1\r\nHost: ${always}\r\n\r\n`);
  return Number((await wire.answer()).head.slice(9, 12));
}

/** Every way of writing a file; the bad ones are never to come into force. */
const ways: readonly ((text: string) => void)[] = [
  (text) => writeFileSync(gateway.configPath, text),
  (text) => {
    writeFileSync(`${gateway.configPath}.new`, text);
    renameSync(`${gateway.configPath}.new`, gateway.configPath);
  },
  (text) => {
    const target = join(gateway.home, `target-${Math.floor(random() * 3)}.yaml`);
    writeFileSync(target, text);
    rmSync(`${gateway.configPath}.link`, { force: true });
    symlinkSync(target, `${gateway.configPath}.link`);
    renameSync(`${gateway.configPath}.link`, gateway.configPath);
  },
  (text) => writeFileSync(gateway.configPath, text.slice(0, 'version: 1\nlis'.length)),
  () => writeFileSync(gateway.configPath, 'allow: [: not yaml'),
  () => writeFileSync(gateway.configPath, ''),
  () => rmSync(gateway.configPath, { force: true }),
  () => {
    rmSync(gateway.configPath, { force: true });
    symlinkSync(gateway.configPath, gateway.configPath);
  },
];

/** As a person would, who saves over whatever stands there. */
function clearLink(): void {
  if (lstatSync(gateway.configPath, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(gateway.configPath);
}

async function warnings(): Promise<string> {
  return (await gateway.admin('GET', '/internal/health')).json<{ warnings: string[] }>().warnings.join('\n');
}

const openFiles = (): number => readdirSync('/proc/self/fd').length;

describe('a storm of reloads', () => {
  test('fails no request, lets nothing pass that no policy allows, and ends with the last one in force', async () => {
    const wires = await Promise.all([open(), open(), open()]);
    for (const wire of wires) expect(await get(wire, '/always')).toBe(200);
    const before = openFiles();
    let isOver = false;
    const asked = { always: 0, never: 0 };
    const asking = wires.map(async (wire) => {
      while (!isOver) {
        expect(await get(wire, '/always')).toBe(200);
        expect(await get(wire, '/no-policy-names-it')).toBe(403);
        asked.always++;
      }
    });
    const reloads: Promise<unknown>[] = [];
    for (let i = 0; i < rewrites; i++) {
      clearLink();
      ways[Math.floor(random() * ways.length)]!(policy(`/v${i}`));
      // Some are told of, several at a time, some are left to be found.
      if (random() < 0.7) reloads.push(gateway.gateway.reload().catch(() => null));
      if (random() < 0.5) await new Promise(setImmediate);
    }
    await Promise.all(reloads);
    rmSync(gateway.configPath, { force: true });
    writeFileSync(gateway.configPath, policy('/last'));
    // Of two at once the one that began later has the last word, whichever is quicker.
    await Promise.all([gateway.gateway.reload(), gateway.gateway.reload()]);
    isOver = true;
    await Promise.all(asking);
    expect(asked.always).toBeGreaterThan(10);
    expect(await get(wires[0]!, '/last')).toBe(200);
    expect(await get(wires[0]!, `/v${rewrites - 1}`)).toBe(403);
    expect(seen).toBe(0);
    expect(await warnings()).not.toContain('not in force');
    await eventually(() => openFiles() <= before, 'nothing is left open');
    for (const wire of wires) wire.socket.destroy();
  }, 120_000);

  test('a link to itself in place of the file is told as a fault, and ends nothing', async () => {
    rmSync(gateway.configPath);
    symlinkSync(gateway.configPath, gateway.configPath);
    await eventually(async () => (await warnings()).includes('not in force'), 'it is noticed by itself');
    rmSync(gateway.configPath);
    writeFileSync(gateway.configPath, policy('/back'));
    await eventually(async () => !(await warnings()).includes('not in force'), 'the file is back');
  });
});
