// Attack: get more than one's share by looking like many: other connections, streams of HTTP/2, other ways of writing the
// same name, other doors.
import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { basic } from '../../support/hand-made-flow.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../../support/limits-ground.ts';
import { sendPlain } from '../../support/raw-client.ts';
import { askHttp2, type Door, openHttp2, openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround();
});

afterAll(() => ground.stop());

/** Statuses of so many requests at once on one HTTP/2 connection. */
async function streams(session: ClientHttp2Session, count: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => askHttp2(session, { ':path': '/' })));
  return answers.map(({ headers }) => Number(headers[':status']));
}

async function statusWith(door: Door, fields: readonly string[]): Promise<number> {
  const caPath = ground.gateway.caPath;
  const wire = new Wire(await openTls(door, `${hosts.open}:443`, { caPath, fields }));
  wire.send(`GET / HTTP/1.1\r\nHost: ${hosts.open}\r\nConnection: close\r\n\r\n`);
  return Number((await wire.rest()).slice(9, 12));
}

test('all connections, all streams and all spellings of one sandbox count together', async () => {
  // One a minute, so that none comes back while this runs.
  await ground.limit({ requests_per_minute: 1, burst: 12 });
  const { grant } = await ground.gateway.register({ id: 'many-faces', proof: ['secret'] });
  const { secret } = grant as { secret: string };
  const by = (name: string) => [`Proxy-Authorization: ${basic(name, secret)}`];
  const statuses: number[] = [];
  for (const name of ['many-faces', 'MANY-FACES', 'Many-Faces', 'many-faces ']) {
    // Whatever is not the name of a sandbox is nobody; whatever is, is this one.
    statuses.push(await statusWith(ground.gateway, by(name)).catch(() => 407));
  }
  const caPath = ground.gateway.caPath;
  const sessions = await Promise.all(
    [1, 2, 3].map(() => openHttp2(ground.gateway, hosts.open, { caPath, fields: by('many-faces') })),
  );
  statuses.push(...(await Promise.all(sessions.map((session) => streams(session, 6)))).flat());
  for (const session of sessions) session.close();
  expect(statuses.filter((status) => status === 200)).toHaveLength(12);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(5);
});

test('a WebSocket that stays open keeps its place', async () => {
  await ground.limit({ concurrent_requests: 1 });
  const door = await ground.sandbox();
  const wire = new Wire(await openTls(door, `${hosts.open}:443`, { caPath: ground.gateway.caPath }));
  wire.send(
    `GET /hold HTTP/1.1\r\nHost: ${hosts.open}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  await wire.until('HTTP/1.1 101');
  expect(await ground.ask(door, hosts.open)).toMatchObject({ status: 429, code: 'limit.concurrent' });
  wire.socket.destroy();
});

/** What a flood on one connection was answered, and how many seconds of the brake it touched at most: one had begun before. */
async function flood(ask: string, count: number) {
  const startedMs = performance.now();
  const answer = await sendPlain(ground.gateway, ask.repeat(count), { waitMs: 1_500 });
  return { ...answer, seconds: Math.floor((performance.now() - startedMs) / 1000) + 2 };
}

test('CONNECT by CONNECT on one connection is counted too, and past a few refusals answered late', async () => {
  await ground.limit({ requests_per_minute: 3 });
  await ground.gateway.register({ container_ip: '127.0.0.1' });
  const knock = 'CONNECT elsewhere.example:22 HTTP/1.1\r\nHost: elsewhere.example:22\r\n\r\n';
  const { statuses, code, seconds } = await flood(knock, 300);
  expect(statuses.slice(0, 3)).toEqual([403, 403, 403]);
  expect(statuses.filter((status) => status === 403)).toHaveLength(3);
  // Twenty at once in a second; each one after them takes a second of its own.
  expect(statuses.length).toBeLessThanOrEqual(3 + 21 * seconds);
  expect(code).toBe('limit.rate');
});

test('what is refused before anybody knows who asks is not free either', async () => {
  // An address in place of a name is refused before the sandbox is looked up; the connection lives on.
  const ask = 'GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n';
  const { statuses, seconds } = await flood(ask, 600);
  expect(new Set(statuses)).toEqual(new Set([403]));
  expect(statuses.length).toBeLessThanOrEqual(101 * seconds);
});
