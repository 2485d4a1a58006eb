// Attack: sandboxes that prove themselves by a secret may share an address (a load balancer, this very machine). One of them
// opens all the connections that the address may have, so that none is left for the others.
import { connect as dial } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { basic } from '../../support/hand-made-flow.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../../support/limits-ground.ts';
import { openTls, TunnelRefused } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround();
});

afterAll(() => ground.stop());

async function bySecret(id: string): Promise<string> {
  const { grant } = await ground.gateway.register({ id, proof: ['secret'] });
  return `Proxy-Authorization: ${basic(id, (grant as { secret: string }).secret)}`;
}

/** A tunnel that stays open, or the head of the refusal. */
async function connect(proof: string): Promise<Wire | string> {
  try {
    return new Wire(
      await openTls(ground.gateway, `${hosts.open}:443`, { caPath: ground.gateway.caPath, fields: [proof] }),
    );
  } catch (error) {
    if (error instanceof TunnelRefused) return error.head;
    throw error;
  }
}

async function isServed(proof: string): Promise<boolean> {
  const wire = await connect(proof);
  if (typeof wire === 'string') return false;
  wire.send(`GET / HTTP/1.1\r\nHost: ${hosts.open}\r\nConnection: close\r\n\r\n`);
  return (await wire.rest()).startsWith('HTTP/1.1 200');
}

test('one that holds every connection it may have takes none from another at the same address', async () => {
  await ground.limit({ connections: 4 });
  const [greedy, other] = [await bySecret('greedy'), await bySecret('other')];
  const held: Wire[] = [];
  for (let i = 0; i < 4; i++) held.push((await connect(greedy)) as Wire);
  const refused = await connect(greedy);
  expect(refused).toMatch(/^HTTP\/1\.1 429[\s\S]*X-Sallyport-Refused: limit\.connections/);
  expect(await isServed(other)).toBe(true);
  for (const { socket } of held) socket.destroy();
  await eventually(() => isServed(greedy), 'its places come back');
});

test('one that connects without end does not use up what is new at its address', async () => {
  await ground.limit({ connections_per_second: 3 });
  const [greedy, other] = [await bySecret('greedy-again'), await bySecret('other-again')];
  const ends: (Wire | string)[] = [];
  for (let i = 0; i < 40; i++) ends.push(await connect(greedy));
  const refused = ends.filter((end): end is string => typeof end === 'string');
  expect(refused.length).toBeGreaterThan(0);
  for (const head of refused) expect(head).toMatch(/^HTTP\/1\.1 429[\s\S]*X-Sallyport-Refused: limit\.connection-rate/);
  expect(await isServed(other)).toBe(true);
  for (const end of ends) if (typeof end !== 'string') end.socket.destroy();
});

test('requests without CONNECT count as well: past its places a sandbox is answered once more and closed on', async () => {
  await ground.limit({ connections: 2 });
  const proof = await bySecret('plain');
  const ask = `GET http://${hosts.open}/ HTTP/1.1\r\nHost: ${hosts.open}\r\n${proof}\r\n\r\n`;
  const held: Wire[] = [];
  const knock = async (): Promise<Wire> => {
    const wire = new Wire(dial(ground.gateway.port, ground.gateway.host));
    wire.send(ask);
    await wire.until('HTTP/1.1 403');
    held.push(wire);
    return wire;
  };
  for (let i = 0; i < 2; i++) await knock();
  await (await knock()).rest();
  expect(held.map(({ ended }) => ended !== 'open')).toEqual([false, false, true]);
  for (const { socket } of held) socket.destroy();
});
