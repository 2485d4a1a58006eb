// Commands where more than one gateway of a user runs, or one that does not follow what lies here: whose answer it is, is said.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gatewayHome } from '../../../src/kit/files/gateway-homes.ts';
import { placesIn } from '../../../src/kit/files/home.ts';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { fillJournal } from '../stages/audit/journal/journal-fixture.ts';
import { runWith } from './command-line.ts';

let first: Running;
let second: Running;
let project: string;
let config: string;

beforeAll(async () => {
  first = await startFake();
  mkdirSync(gatewayHome(first.home, 2), { recursive: true, mode: 0o700 });
  second = await startFake({ socketPath: placesIn(gatewayHome(first.home, 2)).adminSocket });
  project = mkdtempSync(join(tmpdir(), 'sallyport-here-'));
  config = join(project, 'sallyport.yaml');
  writeFileSync(config, 'version: 1\n');
});

afterAll(async () => {
  await second.stop();
  await first.stop();
  rmSync(project, { recursive: true });
});

const run = (...argv: string[]) => runWith(argv, { home: first.home, cwd: project });

function follow(running: Running, path: string): void {
  const health = running.ports.health();
  Object.assign(running.ports, { health: () => ({ ...health, config: path }) });
}

describe('a policy that lies here and that no gateway follows', () => {
  const words = `this is what the gateways that run say, which follow embedded default, /other.yaml; none follows`;

  test('check, secret list and doctor answer for the gateways that run, and say so', async () => {
    follow(second, '/other.yaml');
    const checked = await run('check', 'GET', 'https://allowed.example/v1');
    expect([checked.code, checked.err]).toEqual([
      0,
      `(${words} ${config}, as a \`run\` here would. For that one: --config ${config})\n`,
    ]);
    expect((await run('secret', 'list')).err).toContain(`For that one: sallyport config check ${config})`);
    const key = join(project, 'key');
    writeFileSync(key, 'a key\n', { mode: 0o644 });
    writeFileSync(config, `version: 1\ncredentials: { anthropic: { source: { file: ${key} } } }\n`);
    const doctor = await run('doctor', '--outside');
    expect(doctor.code).toBe(1);
    expect(doctor.out).toContain(`config here      ${words} ${config}`);
    expect(doctor.out).toContain('`sallyport run` here starts a gateway that follows it');
    expect(doctor.out).toContain(`${key} is open to other users (mode 644): run  chmod 600 ${key}`);
  });

  test('where one of them follows it, or the question is about a sandbox, nothing is added', async () => {
    expect((await run('check', 'GET', 'https://allowed.example/v1', '--sandbox', 'sbx_1')).err).toBe('');
    follow(second, config);
    expect((await run('check', 'GET', 'https://allowed.example/v1')).err).toBe('');
    expect((await run('secret', 'list')).err).not.toContain('none follows');
  });
});

test('dashboard prints the page of each, and of which sandboxes it is', async () => {
  Object.assign(second.ports, { dashboardAddress: () => 'http://127.0.0.1:2/enter?token=two' });
  expect(await run('dashboard')).toMatchObject({ code: 0, out: 'http://127.0.0.1:2/enter?token=two\n', err: '' });
  Object.assign(first.ports, { dashboardAddress: () => 'http://127.0.0.1:1/enter?token=one' });
  const both = await run('dashboard');
  expect(both.out).toBe('http://127.0.0.1:1/enter?token=one\nhttp://127.0.0.1:2/enter?token=two\n');
  expect(both.err).toContain('Several gateways run, each with a page of its own sandboxes:');
  expect(both.err).toContain('0 sandboxes, by embedded default');
  const { address, pages } = JSON.parse((await run('dashboard', '--json')).out);
  expect([address, pages]).toEqual([
    'http://127.0.0.1:1/enter?token=one',
    expect.arrayContaining([{ address: 'http://127.0.0.1:2/enter?token=two', config, sandboxes: 0 }]),
  ]);
});

test('audit verify looks at the journal of each, and one that is broken is not hidden by the others', async () => {
  const [one, two] = [first.home, gatewayHome(first.home, 2)].map((home) => placesIn(home).journalDirectory);
  fillJournal(one!, 3);
  fillJournal(two!, 5);
  const whole = await run('audit', 'verify');
  expect(whole.code).toBe(0);
  expect(whole.out).toContain(`${one}\nintact 3 records`);
  expect(whole.out).toContain(`${two}\nintact 5 records`);
  writeFileSync(join(two!, 'journal-000001.jsonl'), '{"seq":1}\n');
  const broken = await run('audit', 'verify', '--json');
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.out)).toMatchObject({
    ok: false,
    journals: [
      { journal: one, ok: true, records: 3 },
      { journal: two, ok: false },
    ],
  });
});
