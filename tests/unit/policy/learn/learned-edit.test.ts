import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { planLearned } from '../../../../src/policy/learn/learned-edit.ts';
import { type LearnedSession, LearnedSessions } from '../../../../src/policy/learn/learned-sessions.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';

const machine = { ...thisMachine(), run: async () => null };
/** Whose package managers have no configuration of their own. */
const bareMachine = { ...machine, env: {}, home: '/nowhere' };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-learn-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const session = (more: Partial<LearnedSession> = {}): LearnedSession => ({
  sandbox: 'sbx_1',
  at: '2026-11-16T12:00:00.000Z',
  config: null,
  directory: folder,
  entries: [{ host: 'new.example', methods: ['GET', 'HEAD'], comment: 'learned' }],
  refused: [],
  leftOut: 0,
  ...more,
});

describe('what was learned becomes lines', () => {
  test('without a configuration a new one has what the built-in one has, and the lines', async () => {
    const edit = await planLearned(session(), machine);
    expect([edit.file, edit.isNew, edit.count]).toEqual([join(folder, 'sallyport.yaml'), true, 1]);
    await edit.write();
    const text = readFileSync(edit.file, 'utf8');
    expect(text.split('\n')[edit.line - 1]).toBe(edit.added);
    expect((parse(text) as { allow: object[] }).allow).toEqual([
      ...['anthropic', 'openai', 'google', 'github', 'npm', 'pypi'].map((preset) => ({ preset })),
      { host: 'new.example', methods: ['GET', 'HEAD'] },
    ]);
  });

  test.each(['a file', 'a link'])('%s that turned up where the new one would go is not written to', async (kind) => {
    const planted = join(folder, 'sallyport.yaml');
    const aim = join(folder, 'aim');
    writeFileSync(aim, 'mine');
    if (kind === 'a link') symlinkSync(aim, planted);
    else writeFileSync(planted, 'version: 1\n');
    const edit = await planLearned(session(), machine);
    await expect(edit.write()).rejects.toThrow('was not there when the session began');
    expect(readFileSync(aim, 'utf8')).toBe('mine');
  });

  test('what the configuration has by now is left out', async () => {
    const config = join(folder, 'policy.yaml');
    writeFileSync(config, 'version: 1\nallow:\n  - host: new.example\n  - host: api.big.example\n');
    const entries = [{ host: 'new.example' }, { host: '*.big.example' }, { host: 'b.example' }];
    const edit = await planLearned(session({ config, entries }), machine);
    expect([edit.count, edit.added]).toEqual([1, '  - { host: b.example, methods: [GET, HEAD] }']);
    // Not everything is there: somebody must look at it.
    expect(edit.leftOut).toEqual(['*.big.example']);
    await edit.write();
    expect((await planLearned(session({ config, entries }), machine)).count).toBe(0);
  });

  test.each([
    ['asks a person', '{ host: pypi.org, ask: true }'],
    ['allows one path', '{ host: pypi.org, methods: [GET], paths: [/simple/six/] }'],
    ['is a wildcard', '{ host: "*.pythonhosted.org", methods: [HEAD] }'],
  ])('a preset does not go over a rule of the configuration that %s', async (_what, rule) => {
    const config = join(folder, 'policy.yaml');
    const before = `version: 1\nallow:\n  - ${rule}\n`;
    writeFileSync(config, before);
    const pypi = { preset: 'pypi', comment: 'learned' };
    const alone = await planLearned(session({ config, entries: [pypi] }), bareMachine);
    expect([alone.count, alone.added, alone.leftOut]).toEqual([0, '', ['preset pypi']]);
    await alone.write();
    expect(readFileSync(config, 'utf8')).toBe(before);
    // What is beside it is added.
    const entries = [pypi, { preset: 'anthropic' }, { host: 'b.example' }];
    const edit = await planLearned(session({ config, entries }), bareMachine);
    expect([edit.count, edit.leftOut]).toEqual([2, ['preset pypi']]);
    expect(edit.added).toBe('  - preset: anthropic\n  - { host: b.example, methods: [GET, HEAD] }');
  });

  test('a wildcard that the configuration has by now is not missing', async () => {
    const config = join(folder, 'policy.yaml');
    writeFileSync(config, 'version: 1\nallow:\n  - host: "*.big.example"\n');
    const edit = await planLearned(session({ config, entries: [{ host: '*.big.example' }] }), machine);
    expect([edit.count, edit.leftOut]).toEqual([0, []]);
  });

  test('whatever a kept proposal says, it is to read', async () => {
    const entries = [{ host: 'new.example', methods: ['POST', 'DELETE'] }];
    expect((await planLearned(session({ entries }), machine)).added).toContain('methods: [GET, HEAD]');
  });
});

describe('proposals are kept until they are applied', () => {
  test('the newest first, and no more than fifty', async () => {
    const kept = new LearnedSessions(folder);
    for (let i = 0; i < 53; i++) {
      await kept.keep(session({ sandbox: `sbx_${i}`, at: new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString() }));
    }
    expect(kept.list()).toHaveLength(50);
    expect(kept.list()[0]?.sandbox).toBe('sbx_52');
    expect(kept.find('sbx_0')).toBeNull();
    kept.forget('sbx_52');
    expect(kept.find('sbx_52')).toBeNull();
  });

  test('a name that leads elsewhere, and a file that is something else, are nobody’s proposal', async () => {
    const kept = new LearnedSessions(folder);
    await kept.keep(session());
    writeFileSync(join(folder, 'outside.json'), JSON.stringify(session({ sandbox: '../outside' })));
    writeFileSync(join(folder, 'learned', 'other.json'), JSON.stringify(session()));
    writeFileSync(join(folder, 'learned', 'broken.json'), '{');
    for (const id of ['../outside', 'other', 'broken', '', 'SBX_1']) expect(kept.find(id), id).toBeNull();
    expect(kept.list().map(({ sandbox }) => sandbox)).toEqual(['sbx_1']);
  });
});
