import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

let running: Running;

beforeAll(async () => {
  running = await startFake();
});

afterAll(() => running.stop());

test('where no page is served, it says so and what to add', async () => {
  const { code, out, err } = await runWith(['dashboard'], { home: running.home });
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('this gateway serves no dashboard');
  expect(err).toContain('For as long as a run lasts: sallyport run --dashboard -- COMMAND');
  expect(err).toContain('listen: {dashboard: 127.0.0.1:8642}');
});

test('the address is all that a script reads, and JSON on request', async () => {
  let count = 0;
  Object.assign(running.ports, { dashboardAddress: () => `http://127.0.0.1:8642/enter?token=t${++count}` });
  expect((await runWith(['dashboard'], { home: running.home })).out).toBe('http://127.0.0.1:8642/enter?token=t1\n');
  const { code, out } = await runWith(['dashboard', '--json'], { home: running.home });
  expect([code, JSON.parse(out)]).toEqual([0, { address: 'http://127.0.0.1:8642/enter?token=t2' }]);
});

test('without a gateway it says that there is none', async () => {
  const { code, err } = await runWith(['dashboard'], { home: '/nonexistent' });
  expect(code).not.toBe(0);
  expect(err).toContain('the gateway is not running');
});
