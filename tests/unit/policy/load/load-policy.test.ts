import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findConfigFile, loadPolicy } from '../../../../src/policy/load/load-policy.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';
import { pretendMachine } from '../pretend-machine.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-policy-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the configuration file', () => {
  test('is looked for in the order of the contract', () => {
    const home = join(directory, 'home');
    const cwd = join(directory, 'cwd');
    mkdirSync(join(home, '.config', 'sallyport'), { recursive: true });
    mkdirSync(cwd);
    expect(findConfigFile({ env: {}, cwd, home })).toBeNull();
    writeFileSync(join(home, '.config', 'sallyport', 'sallyport.yaml'), '');
    expect(findConfigFile({ env: {}, cwd, home })).toBe(join(home, '.config/sallyport/sallyport.yaml'));
    writeFileSync(join(cwd, 'sallyport.yaml'), '');
    expect(findConfigFile({ env: {}, cwd, home })).toBe(join(cwd, 'sallyport.yaml'));
    expect(findConfigFile({ env: { SALLYPORT_CONFIG: '/e.yaml' }, cwd, home })).toBe('/e.yaml');
    expect(findConfigFile({ flag: 'f.yaml', env: { SALLYPORT_CONFIG: '/e.yaml' }, cwd, home })).toBe(
      join(cwd, 'f.yaml'),
    );
  });

  test('that was named but is not there is an error, not a silent default', async () => {
    const result = await loadPolicy(join(directory, 'none.yaml'), thisMachine());
    expect(result).toMatchObject({ ok: false, errors: [{ line: 1, column: 1 }] });
  });

  test('that is a named pipe does not hold the start', async () => {
    const pipe = join(directory, 'pipe.yaml');
    execFileSync('mkfifo', [pipe]);
    expect((await loadPolicy(pipe, thisMachine())).ok).toBe(false);
  });

  test('absent: the embedded default allows the six presets', async () => {
    const result = await loadPolicy(null, pretendMachine({ npm: 'https://registry.example/' }));
    if (!result.ok) throw new Error(JSON.stringify(result.errors));
    const { policy } = result;
    expect(policy.origin).toBe('embedded default');
    for (const host of [
      'api.anthropic.com',
      'api.openai.com',
      'generativelanguage.googleapis.com',
      'github.com',
      'registry.example',
      'pypi.org',
    ]) {
      expect(policy.rulesFor(host).length, host).toBeGreaterThan(0);
    }
    expect([...policy.credentials.keys()]).toEqual([
      ...['anthropic', 'openai', 'chatgpt', 'google', 'gemini', 'vertex', 'github'],
    ]);
    expect(policy.warnings).toEqual([]);
  });

  test('relative certificate names start at the directory of the file', async () => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
    const out = join(directory, 'ca.pem');
    execFileSync('openssl', ['req', '-x509', ...key, '-subj', '/CN=test', '-days', '1', '-out', out], {
      stdio: 'ignore',
    });
    const file = join(directory, 'sallyport.yaml');
    writeFileSync(file, 'version: 1\nupstream: {ca: ca.pem}\n');
    const result = await loadPolicy(file, thisMachine());
    if (!result.ok) throw new Error(JSON.stringify(result.errors));
    expect(result.policy.upstream.extraRoots).toHaveLength(1);
    expect(result.policy.upstream.extraRoots[0]).toContain('BEGIN CERTIFICATE');
  });

  test('config/policy.yaml.example is valid and warns of nothing', async () => {
    const example = fileURLToPath(new URL('../../../../config/policy.yaml.example', import.meta.url));
    const text = thisMachine().readText(example)!;
    const result = await loadPolicy(
      '/x.yaml',
      pretendMachine({ files: { '/x.yaml': text }, npm: 'https://registry.example/' }),
    );
    expect(result.ok ? result.policy.warnings : result.errors).toEqual([]);
  });
});

describe('this machine', () => {
  test('lists, reads and runs within bounds, and gives a program no stray variables', async () => {
    process.env.SALLYPORT_TEST_STRAY = 'x';
    const machine = thisMachine();
    writeFileSync(join(directory, 'b'), 'text');
    writeFileSync(join(directory, 'a'), '');
    expect(machine.listDirectory(directory)).toEqual(['a', 'b']);
    expect(machine.listDirectory(join(directory, 'none'))).toEqual([]);
    expect(machine.readText(join(directory, 'b'))).toBe('text');
    expect(machine.readText(directory)).toBeNull();
    expect(await machine.run(['sh', '-c', 'pwd; echo "$SALLYPORT_TEST_STRAY"'])).toBe('/\n\n');
    expect(await machine.run(['sh', '-c', 'exit 3'])).toBeNull();
    expect(await machine.run(['no-such-program-here'])).toBeNull();
    delete process.env.SALLYPORT_TEST_STRAY;
  });
});
