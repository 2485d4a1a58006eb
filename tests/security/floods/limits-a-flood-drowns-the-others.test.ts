// Attack: ask far over the limit, so that the gateway has no time for anybody else, and the journal no room.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../../support/limits-ground.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const connections = 40;
const perConnection = 60;

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround({ requests_per_minute: 60, burst: 60 });
});

afterAll(() => ground.stop());

const request = `GET / HTTP/1.1\r\nHost: ${hosts.open}\r\n\r\n`;

test('who floods is served what it may have, the rest is refused late and in few records; who does not is always served', async () => {
  const [noisy, quiet] = [await ground.sandbox(), await ground.sandbox()];
  const caPath = ground.gateway.caPath;
  const wires = await Promise.all(
    Array.from({ length: connections }, async () => new Wire(await openTls(noisy, `${hosts.open}:443`, { caPath }))),
  );
  for (const wire of wires) wire.send(request.repeat(perConnection));
  const calm = new Wire(await openTls(quiet, `${hosts.open}:443`, { caPath }));
  for (let i = 0; i < 30; i++) {
    calm.send(request);
    expect((await calm.answer()).head).toMatch(/^HTTP\/1\.1 200 /);
  }
  calm.socket.destroy();
  const answered = await eventually(async () => {
    const all = wires.flatMap(({ received }) => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, s]) => s));
    const count = (wanted: string): number => all.filter((status) => status === wanted).length;
    // Its burst, then the refusals that are given at once, and with the next second those that came late.
    return count('200') >= 60 && count('429') >= 45 ? all : null;
  }, 'the burst is served, and more is refused');
  for (const wire of wires) wire.socket.destroy();
  // And what comes back while this runs.
  expect(answered.filter((status) => status === '200').length).toBeLessThan(120);
  // Of what it sent most was not even read: its connections wait.
  expect(answered.length).toBeLessThan((connections * perConnection) / 2);

  const written = async () =>
    (await ground.gateway.journal()).filter(({ sandbox, code }) => sandbox === noisy.id && code === 'limit.rate');
  const refusals = async (): Promise<number> => {
    const { body } = await ground.gateway.admin('GET', '/internal/metrics');
    return Number(/^sallyport_refusals_total\{[^}]*code="limit\.rate"[^}]*\} (\d+)/m.exec(body)?.[1] ?? -1);
  };
  // Those that waited when their client went are refused all the same.
  const records = await eventually(async () => {
    const [before, found] = [await refusals(), await written()];
    const counted = found.reduce((sum, { reason }) => sum + countOf(reason), 0);
    const isAll = before > 0 && counted === before && (await refusals()) === before;
    return isAll ? found : null;
  }, 'every refusal is in the journal, by itself or in a number');
  expect(records.some(({ reason }) => countOf(reason) > 1)).toBe(true);
});

/** How many refusals a record stands for. */
function countOf(reason: unknown): number {
  return Number(/stands for (\d+) refusals/.exec(String(reason))?.[1] ?? 1);
}
