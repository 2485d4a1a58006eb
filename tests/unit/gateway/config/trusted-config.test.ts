import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkConfigIsTheUsers } from '../../../../src/gateway/config/trusted-config.ts';
import { noteWrittenFolders } from '../../../../src/sandbox/traps/written-folders.ts';
import { runWith } from '../../cli/command-line.ts';

let folder: string;
let state: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-trusted-'));
  state = join(folder, 'state');
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function plant(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'version: 1\n');
  noteWrittenFolders(state, [dirname(file)], []);
}

const check = (cwd: string, env: NodeJS.ProcessEnv = {}) =>
  checkConfigIsTheUsers({ env, cwd, places: { home: state } }, undefined);

describe('a configuration that a sandbox may have written', () => {
  test.each([{}, { HOME: '' }])('is refused in the home of the user, also with the environment %o', async (env) => {
    // What the gateway asks the system for, when the environment has no home.
    vi.stubEnv('HOME', folder);
    const file = join(folder, '.config', 'sallyport', 'sallyport.yaml');
    plant(file);
    await expect(check('/', env)).rejects.toThrow(`${file} is in a place where a sandbox could write`);
    const approved = await runWith(['config', 'approve'], { home: state, env });
    expect(approved.out).toContain(`approved ${file}`);
    await expect(check('/', env)).resolves.toBe(file);
  });

  test('is named in the hint so that a shell runs nothing of its path', async () => {
    const cwd = join(folder, 'a $(touch b)');
    plant(join(cwd, 'sallyport.yaml'));
    const hint = expect.stringContaining(`sallyport config approve '${join(cwd, 'sallyport.yaml')}'`);
    await expect(check(cwd)).rejects.toMatchObject({ hint });
  });
});
