import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lineForAlways } from '../../../../src/policy/edit/always-line.ts';
import { CannotEdit } from '../../../../src/policy/edit/edit-policy.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';

const machine = { ...thisMachine(), run: async () => null };
const now = new Date('2026-11-16T10:00:00Z');
let folder: string;
let origin: string;

const asked = {
  sandbox: 'claude-1',
  method: 'POST',
  scheme: 'https' as const,
  host: 'api.example.com',
  port: 443,
  path: '/v1/things',
  rule: 'allow[1]',
};

const policy = `version: 1
allow:
  - host: other.example.com
  # ask about these
  - host: api.example.com
    ask: true
`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-always-'));
  origin = join(folder, 'sallyport.yaml');
  writeFileSync(origin, policy);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lineFor = (more: Partial<typeof asked> = {}, scope: 'path' | 'host' = 'path') =>
  lineForAlways({ ...asked, ...more } as typeof asked, scope, { origin, machine, now });

describe('what `always` writes', () => {
  test('one line for exactly what was asked, before the entry that asks, shown before it is written', async () => {
    const line = await lineFor();
    expect([line.file, line.line]).toEqual([origin, 4]);
    expect(line.text).toBe(
      '  - { host: api.example.com, methods: [POST], paths: ["/v1/things"] }  # approved 2026-11-16 for claude-1',
    );
    expect(readFileSync(origin, 'utf8')).toBe(policy);
    await line.write();
    const lines = policy.split('\n');
    expect(readFileSync(origin, 'utf8')).toBe([...lines.slice(0, 3), line.text, ...lines.slice(3)].join('\n'));
  });

  test('the whole host, plain http, and another port', async () => {
    expect((await lineFor({}, 'host')).text).toContain('{ host: api.example.com, methods: [POST] }');
    writeFileSync(origin, 'version: 1\nallow:\n  - { host: "*", ask: true, plain_http: true, ports: [80, 8443] }\n');
    const plain = { scheme: 'http', port: 80, rule: 'allow[0]' } as unknown as Partial<typeof asked>;
    expect((await lineFor(plain)).text).toContain('ports: [80], plain_http: true }');
    expect((await lineFor({ port: 8443, rule: 'allow[0]' })).text).toContain('ports: [8443] }');
  });

  test('an access request is put at the end, and an undecrypted tunnel stays one', async () => {
    expect((await lineFor({ host: 'requested.example', rule: 'allow (no rule covers the host)' })).line).toBe(7);
    writeFileSync(origin, 'version: 1\nallow:\n  - { host: "*.example.com", tunnel: true, ask: true }\n');
    const tunnel = { host: 'db.example.com', path: '', method: 'CONNECT', rule: 'allow[0]' };
    expect((await lineFor(tunnel, 'host')).text).toContain('{ host: db.example.com, tunnel: true }');
    await expect(lineFor(tunnel)).rejects.toThrow('has no path');
  });

  test.each(['/v1/*', '/v1/**', '/a{b}', '/a[b]', '/50%', '/a?b', '/a#b', `/${'x'.repeat(1023)}`, '/a\nb', '/a//b'])(
    'a path that would be more than itself, or less, is not written: %j',
    async (path) => {
      await expect(lineFor({ path })).rejects.toThrow('cannot be written as a rule');
    },
  );

  test('where no line could say it, it is said why', async () => {
    await expect(lineFor({ rule: 'github.effects.bot.ask' })).rejects.toThrow('github.effects.bot.ask asks about this');
    const parts = { origin: 'embedded default', machine, now };
    await expect(lineForAlways(asked, 'path', parts)).rejects.toThrow('there is no configuration file');
    writeFileSync(origin, 'version: 1\nallow:\n  - { host: api.example.com, tunnel: true }\n');
    await expect(lineFor()).rejects.toThrow('would not be valid');
    await expect(lineFor()).rejects.toBeInstanceOf(CannotEdit);
  });

  test('a line that would leave nothing to ask about is the user’s to write', async () => {
    writeFileSync(origin, 'version: 1\nallow:\n  - { host: api.example.com, methods: [POST], ask: true }\n');
    const { text } = await lineFor({ rule: 'allow[0]' });
    expect(text).toContain('paths: ["/v1/things"]');
    await expect(lineFor({ rule: 'allow[0]' }, 'host')).rejects.toThrow('allow[0] would never ask again');
  });

  test('a line that something else would come before is not written', async () => {
    // By its place it would come after an entry that asks about the same.
    await expect(lineFor({ rule: 'allow (an access request)' })).rejects.toThrow('would change nothing');
  });
});
