import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createContext } from '../../../src/cli/cli-context.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { fillJournal } from '../stages/audit/journal/journal-fixture.ts';
import { runWith } from './command-line.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-cli-'));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (...argv: string[]) => runWith(argv, { home, cwd: home });

describe('sallyport ca', () => {
  test('path and export give the certificate, and never look at the key', async () => {
    mkdirSync(join(home, 'ca'));
    const path = join(home, 'ca', 'ca.pem');
    writeFileSync(path, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
    expect((await run('ca', 'path')).out).toBe(`${path}\n`);
    expect((await run('ca', 'export')).out).toBe('-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
    expect(JSON.parse((await run('ca', 'path', '--json')).out)).toEqual({ path });
  });

  test('before the first start there is none, and the error says when it is made', async () => {
    for (const command of ['path', 'export']) {
      const { code, out, err } = await run('ca', command);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain('sallyport up');
    }
  });
});

describe('sallyport config check', () => {
  test('says every error at once with file, line and column, exit 2', async () => {
    const file = join(home, 'sallyport.yaml');
    writeFileSync(file, 'version: 1\nallow:\n  - host: "*"\n  - prest: github\nlisten: 5\n');
    const { code, out, err } = await run('config', 'check');
    expect(code).toBe(2);
    const lines = out.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThanOrEqual(3);
    for (const line of lines) expect(line).toMatch(/^\/.*sallyport\.yaml:\d+:\d+: ./);
    expect(err).toContain('errors');
    const json = await run('config', 'check', file, '--json');
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false });
  });

  test('a good file is ok; one that is named and not there is an error', async () => {
    const file = join(home, 'good.yaml');
    writeFileSync(file, 'version: 1\nallow:\n  - host: api.example.com\n');
    const good = await run('config', 'check', 'good.yaml');
    expect(good.code).toBe(0);
    expect(good.out).toContain(`ok ${file}: 1 allow rules`);
    expect((await run('config', 'check', 'missing.yaml')).code).toBe(2);
  });
});

describe('a key that others can read', () => {
  const key = (): string => join(home, 'key');
  beforeEach(() => {
    writeFileSync(key(), 'a-real-key-0123456789', { mode: 0o644 });
    const config = { my: { hosts: ['api.example.com'], inject: { bearer: true }, source: { file: key() } } };
    const policy = { version: 1, allow: [{ host: 'api.example.com' }], credentials: config };
    writeFileSync(join(home, 'sallyport.yaml'), JSON.stringify(policy));
  });

  test('is told by `config check`, with the command that helps, and no more when it has helped', async () => {
    const open = await run('config', 'check');
    expect(open.code).toBe(0);
    expect(open.out).toContain('1 credentials, 1 with a problem');
    const problem = `the credential my cannot be used: ${key()} is open to other users (mode 644): run  chmod 600 ${key()}`;
    expect(open.err).toContain(problem);
    const json = JSON.parse((await run('config', 'check', '--json')).out);
    expect(json).toMatchObject({ ok: true, credentials: [{ name: 'my', source: 'file', state: 'unreadable' }] });
    chmodSync(key(), 0o600);
    const closed = await run('config', 'check');
    expect([closed.err, closed.out.trimEnd().endsWith('1 credentials')]).toEqual(['', true]);
    expect(`${open.out}${open.err}${closed.out}`).not.toContain('a-real-key');
  });

  test('is not well to the doctor', async () => {
    const { out } = await run('doctor', '--outside', '--json');
    const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: Record<string, string>[] };
    expect(ok).toBe(false);
    expect(findings.filter(({ name }) => name === 'credential')).toMatchObject([
      { state: 'fail', says: expect.stringContaining(`chmod 600 ${key()}`) },
    ]);
  });
});

describe('sallyport audit verify', () => {
  test('an empty journal is intact, a file that is no journal is broken, exit 1', async () => {
    const empty = await run('audit', 'verify');
    expect([empty.code, empty.out]).toEqual([0, 'intact the journal is empty\n']);
    mkdirSync(join(home, 'journal'));
    writeFileSync(join(home, 'journal', 'journal-000001.jsonl'), '{"seq":1}\n{"seq":2}\n');
    const broken = await run('audit', 'verify');
    expect(broken.code).toBe(1);
    expect(broken.out).toMatch(/^broken \(\w+\) /);
    expect(JSON.parse((await run('audit', 'verify', '--json')).out)).toMatchObject({ ok: false });
  });
});

describe('sallyport audit merge', () => {
  test('prints one journal of several, which verify takes; a broken or missing one merges nothing', async () => {
    for (const [i, name] of ['one', 'two'].entries()) fillJournal(join(home, name, 'journal'), 3 + i);
    const merged = await run('audit', 'merge', 'one/journal', 'second=two/journal');
    expect(merged.code).toBe(0);
    expect(JSON.parse(merged.out.split('\n')[0]!)).toEqual({ merged: ['one', 'second'] });
    writeFileSync(join(home, 'merged.jsonl'), merged.out);
    const verified = await run('audit', 'verify', 'merged.jsonl');
    expect([verified.code, verified.out.split('\n')[0]]).toEqual([0, 'intact 7 records of 2 gateways']);

    const twice = await run('audit', 'merge', 'one/journal', 'one=two/journal');
    expect([twice.code, twice.err]).toEqual([2, expect.stringContaining('two journals are called one')]);
    expect((await run('audit', 'merge', 'one/journal', 'no/journal')).code).toBe(2);
    expect((await run('audit', 'verify', 'no-such-place')).code).toBe(2);

    const same = await run('audit', 'merge', 'one/journal', 'second=one/journal');
    expect([same.code, same.out, same.err]).toEqual([2, '', expect.stringContaining('one and second are the same')]);
    for (const argv of [
      ['merge', 'one/journal', 'second=two'],
      ['verify', 'two'],
    ]) {
      const wrong = await run('audit', ...argv);
      expect([wrong.code, wrong.out, wrong.err]).toEqual([2, '', expect.stringContaining('holds no journal')]);
    }
    writeFileSync(join(home, 'a-file'), '');
    expect((await run('audit', 'merge', 'one/journal', 'second=a-file')).code).toBe(2);

    const [file] = readdirSync(join(home, 'two', 'journal')).filter((name) => name.endsWith('.jsonl'));
    const path = join(home, 'two', 'journal', file!);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"GET"', '"PUT"'));
    const broken = await run('audit', 'merge', 'one/journal', 'second=two/journal');
    expect([broken.code, broken.out]).toEqual([1, '']);
    expect(broken.err).toContain('second: broken');
  });

  test('what nobody has taken yet waits on the disk, not in memory', async () => {
    fillJournal(join(home, 'one', 'journal'), 500);
    // The usual amount differs between versions of Node.
    const stdout = new PassThrough({ highWaterMark: 16_384 });
    const parts = { env: { SALLYPORT_HOME: home }, cwd: home, stdin: Readable.from([]), stderr: { write() {} } };
    const code = runCommandLine(['audit', 'merge', 'one/journal'], createContext({ ...parts, stdout }));
    await new Promise((resolve) => stdout.once('readable', resolve));
    await setTimeout(200);
    expect(stdout.readableLength + stdout.writableLength).toBeLessThan(100_000);
    let lines = 0;
    stdout.on('data', (chunk: Buffer) => {
      lines += chunk.toString().split('\n').length - 1;
    });
    expect(await code).toBe(0);
    expect(lines).toBe(502);
  });
});
