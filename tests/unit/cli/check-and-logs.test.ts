import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import picocolors from 'picocolors';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeRecord } from '../../../src/cli/logs.ts';
import { journalFile } from '../../../src/stages/audit/journal/journal-files.ts';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

const run = (...argv: string[]) => runWith(argv, { home: gateway.home });

describe('sallyport check', () => {
  test('an allowed request ends with 0 and names rule and credential', async () => {
    const { code, out } = await run('check', 'get', 'https://allowed.example/v1');
    expect(code).toBe(0);
    expect(out).toMatch(/^allowed\n +rule +allow\[0\]\n +credential +anthropic\n$/);
    expect(gateway.ports.checks).toEqual([{ method: 'GET', url: 'https://allowed.example/v1' }]);
  });

  test('a refused one ends with 3 and says status, code, reason and hint', async () => {
    const { code, out } = await run('check', 'GET', 'https://other.example/');
    expect(code).toBe(3);
    for (const part of ['refused with 403 domain.not-allowed', 'it is not on the allowlist', 'add it'])
      expect(out).toContain(part);
    const json = await run('check', 'GET', 'https://other.example/', '--json');
    expect(json.code).toBe(3);
    expect(JSON.parse(json.out)).toMatchObject({ allowed: false, code: 'domain.not-allowed' });
  });

  test('half a question is answered with the whole one to say', async () => {
    const half = [
      ['example.com', 'the method is missing', 'Say: sallyport check GET https://example.com'],
      ['https://example.com/x', 'the method is missing', 'Say: sallyport check GET https://example.com/x'],
      ['get', 'the URL is missing', 'Say: sallyport check GET https://example.com/'],
    ] as const;
    for (const [word, what, say] of half) {
      const { code, err } = await run('check', word);
      expect([code, err]).toEqual([2, `sallyport: ${what}\n${say}\n`]);
    }
  });

  test('one that its body decides, without it, is never allowed: 6, and says what to give', async () => {
    const { code, out } = await run('check', 'POST', 'https://body.example/');
    expect(code).toBe(6);
    expect(out).toMatch(/^undecided\n +rule +allow\[0\]\n +reason +it depends on the body\n +hint +give it\n$/);
    expect((await run('check', 'POST', 'https://body.example/', '--json')).code).toBe(6);
  });

  test('sandbox, header fields and body go along', async () => {
    const body = `${gateway.home}/body.json`;
    writeFileSync(body, '{"query":"{viewer{login}}"}');
    await run(
      ...['check', 'POST', 'https://allowed.example/', '--sandbox', 'sbx_1', '--body', body],
      ...['--header', 'Accept: a', '--header', 'Accept: b', '--header', 'X-Url:http://x'],
    );
    expect(gateway.ports.checks[0]).toEqual({
      sandbox: 'sbx_1',
      method: 'POST',
      url: 'https://allowed.example/',
      headers: { Accept: ['a', 'b'], 'X-Url': ['http://x'] },
      body: '{"query":"{viewer{login}}"}',
    });
  });

  test('a body that cannot be read and a field without a colon are wrong usage', async () => {
    expect((await run('check', 'GET', 'https://a.example', '--body', '/nonexistent')).code).toBe(2);
    expect((await run('check', 'GET', 'https://a.example', '--header', 'nothing')).code).toBe(2);
  });
});

describe('sallyport check, said wrongly or without a gateway', () => {
  test.each([
    ['example.com', 'https://example.com/'],
    ['example.com/v1?x=1', 'https://example.com/v1?x=1'],
    ['//example.com', 'https://example.com/'],
    ['localhost:8080', 'https://localhost:8080/'],
  ])('%s lacks a scheme: wrong usage, and what to say', async (url, whole) => {
    const { code, err } = await run('check', 'get', url);
    expect(code).toBe(2);
    expect(err).toBe(`sallyport: ${url} is no whole URL: https:// is missing\nSay: sallyport check GET ${whole}\n`);
    expect(gateway.ports.checks).toEqual([]);
  });

  const alone = (cwd: string, ...argv: string[]) =>
    runWith(argv, { home: join(cwd, 'no-gateway'), cwd, env: { HOME: cwd } });

  test('where no gateway runs, the configuration that it would use is asked, and that is said', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-check-'));
    const file = join(folder, 'sallyport.yaml');
    writeFileSync(file, 'version: 1\nallow:\n  - host: allowed.example\n    methods: [GET]\n  - preset: github\n');
    const allowed = await alone(folder, 'check', 'GET', 'https://allowed.example/v1');
    expect(allowed).toMatchObject({ code: 0, err: `No gateway runs here: this is judged by ${file}.\n` });
    expect(allowed.out).toMatch(/^allowed\n +rule +allow\[0\]/);
    const refused = await alone(folder, 'check', 'POST', 'https://allowed.example/v1', '--json');
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.out)).toMatchObject({ allowed: false, status: 403, code: 'method.not-allowed' });
    const open = await alone(folder, 'check', 'POST', 'https://api.github.com/graphql');
    expect(open.code).toBe(6);
    expect(open.out).not.toContain('cases');
    const other = join(folder, 'other.yaml');
    writeFileSync(other, 'version: 1\nallow:\n  - host: other.example\n');
    const named = await alone(folder, 'check', 'GET', 'https://other.example/', '--config', other);
    expect(named).toMatchObject({ code: 0, err: `Not the running gateway is asked: this is judged by ${other}.\n` });
    writeFileSync(other, 'nope: 1\n');
    expect(await alone(folder, 'check', 'GET', 'https://other.example/', '--config', other)).toMatchObject({ code: 2 });
    // Who a sandbox is, only a gateway knows.
    const sandbox = await alone(folder, 'check', 'GET', 'https://allowed.example/', '--sandbox', 'sbx_1');
    expect(sandbox).toMatchObject({ code: 4, out: '' });
    rmSync(folder, { recursive: true });
  });

  test('config check takes the file as other commands do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-check-'));
    writeFileSync(join(folder, 'mine.yaml'), 'nope: 1\n');
    const errors = await alone(folder, 'config', 'check', '--config', 'mine.yaml');
    expect(errors).toMatchObject({ code: 2, err: '2 errors: this configuration would be refused.\n' });
    expect(errors.out).toContain('mine.yaml:1:1: nope: unknown key');
    expect((await alone(folder, 'config', 'check', 'a.yaml', '--config', 'b.yaml')).err).toContain(
      'two files are named',
    );
    rmSync(folder, { recursive: true });
  });

  test('logs without records says so, whether a gateway ever ran or not', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-logs-'));
    const never = await alone(folder, 'logs');
    expect(never).toMatchObject({ code: 0, out: '' });
    expect(never.err).toContain('There are no records yet: nothing has gone through a door here.');
    expect(never.err).toContain('sallyport run -- COMMAND');
    mkdirSync(join(folder, 'no-gateway', 'journal'), { recursive: true, mode: 0o700 });
    const filtered = await alone(folder, 'logs', '--refused', '--sandbox', 'sbx_1');
    expect(filtered).toMatchObject({
      code: 0,
      err: 'There is no record of a refusal of sbx_1. All records: sallyport logs\n',
    });
    rmSync(folder, { recursive: true });
  });
});

describe('sallyport logs', () => {
  const record = {
    seq: 1,
    time: '2027-01-15T12:00:03.123Z',
    sandbox: 'sbx_1',
    verdict: 'allowed',
    status: 200,
    method: 'POST',
    scheme: 'https',
    host: 'api.example.com',
    port: 443,
    path: '/v1/messages',
    query: 'beta',
    credential: 'anthropic',
    ms: 12.34,
  };
  const plain = { colors: picocolors.createColors(false) };

  test('a record is one readable line', () => {
    expect(describeRecord(plain, record).replace(/ +/g, ' ')).toBe(
      '2027-01-15T12:00:03Z sbx_1 allowed 200 POST api.example.com/v1/messages?beta with anthropic 12.3 ms',
    );
    const refused = {
      ...record,
      sandbox: null,
      verdict: 'refused',
      status: 403,
      code: 'target.port',
      reason: 'no',
      port: 8443,
      query: null,
    };
    expect(describeRecord(plain, refused).replace(/ +/g, ' ')).toBe(
      '2027-01-15T12:00:03Z - refused 403 POST api.example.com:8443/v1/messages target.port no 12.3 ms',
    );
    const incident = 'placeholder of github in the body';
    expect(describeRecord(plain, { ...record, incident })).toContain(`with anthropic  incident: ${incident}  12.3 ms`);
    expect(describeRecord(plain, { ...refused, incident })).toContain(`no  incident: ${incident}  12.3 ms`);
    const asked = {
      ...record,
      model: 'claude-x',
      tokens_in: 120,
      tokens_out: 7,
      cost_usd: 0.00125,
      tokens_estimated: false,
    };
    expect(describeRecord(plain, asked)).toContain('with anthropic  120+7 tokens of claude-x  $0.0013  12.3 ms');
    expect(describeRecord(plain, { ...asked, model: null, tokens_estimated: true })).toContain(
      'about 120+7 tokens of a model  $0.0013',
    );
    expect(describeRecord(plain, { ...record, model: null, tokens_in: 0, tokens_out: 0, cost_usd: 0 })).not.toContain(
      'tokens',
    );
    const note = { time: record.time, note: 'recovered', text: '12 bytes were cut off' };
    expect(describeRecord(plain, note)).toContain('journal  12 bytes were cut off');
  });

  test('where no gateway runs any more, what it left on disk is read', async () => {
    const home = mkdtempSync(join(tmpdir(), 'sallyport-logs-'));
    try {
      const { path } = journalFile(join(home, 'journal'), 1);
      mkdirSync(join(home, 'journal'));
      writeFileSync(path, `${JSON.stringify(record)}\n${JSON.stringify({ ...record, seq: 2, sandbox: 'sbx_2' })}\n`);
      const { out, code } = await runWith(['logs', '--sandbox', 'sbx_2', '--json'], { home });
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ seq: 2, sandbox: 'sbx_2' });
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  test('the options become the filter; --json gives one record per line', async () => {
    gateway.ports.journal = [record, { ...record, seq: 2 }];
    const { out, code } = await run('logs', '--refused', '--sandbox', 'sbx_1', '-n', '7', '--json');
    expect(code).toBe(0);
    expect(gateway.ports.filters[0]).toMatchObject({ sandbox: 'sbx_1', refusedOnly: true, limit: 7, follow: false });
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).seq),
    ).toEqual([1, 2]);
    expect((await run('logs', '-n', 'many')).code).toBe(2);
  });

  test('-f prints what is there at once and goes on until the gateway ends, exit 4', async () => {
    gateway.ports.journal = [record];
    const following = run('logs', '-f');
    await expect.poll(() => gateway.ports.filters.length).toBe(1);
    await gateway.stop();
    const { out, code } = await following;
    expect(out).toContain('/v1/messages');
    expect(code).toBe(4);
    gateway = await startFake();
  });

  test('colours only on a terminal, and not with NO_COLOR', async () => {
    gateway.ports.journal = [record];
    const esc = String.fromCharCode(27);
    const options = { home: gateway.home, terminal: true };
    expect((await runWith(['logs'], options)).out).toContain(esc);
    expect((await runWith(['logs'], { ...options, env: { NO_COLOR: '1' } })).out).not.toContain(esc);
    expect((await run('logs')).out).not.toContain(esc);
  });
});
