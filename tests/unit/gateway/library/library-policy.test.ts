import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LibraryPolicy } from '../../../../src/gateway/library/library-policy.ts';
import { LaunchError } from '../../../../src/sandbox/run/sandbox-plan.ts';
import { noteWrittenFolders } from '../../../../src/sandbox/traps/written-folders.ts';

let ground: string;
let places: { readonly home: string; readonly cwd: string };

beforeEach(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-policy-'));
  places = { home: join(ground, 'state'), cwd: join(ground, 'project') };
  for (const folder of Object.values(places)) mkdirSync(folder, { mode: 0o700 });
  vi.stubEnv('HOME', ground);
  vi.stubEnv('SALLYPORT_CONFIG', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(ground, { recursive: true, force: true });
});

function writeConfig(): string {
  const file = join(places.cwd, 'sallyport.yaml');
  writeFileSync(file, 'version: 1\n');
  return file;
}

describe('the policy of a gateway that a program starts', () => {
  test('is the embedded default where there is no file', async () => {
    expect((await LibraryPolicy.find(undefined, places)).asStartOptions()).toEqual({ config: null });
  });

  test('is the file in the working directory', async () => {
    const file = writeConfig();
    expect((await LibraryPolicy.find(undefined, places)).asStartOptions()).toEqual({ config: file });
  });

  test('is not a file that a sandbox may have written, unless the program names it', async () => {
    noteWrittenFolders(places.home, [places.cwd], []);
    const file = writeConfig();
    await expect(LibraryPolicy.find(undefined, places)).rejects.toBeInstanceOf(LaunchError);
    expect((await LibraryPolicy.find('sallyport.yaml', places)).asStartOptions()).toEqual({ config: file });
  });

  test('is an object as it was when it was given', async () => {
    const allow = [{ host: 'one.example' }];
    const source = await LibraryPolicy.find({ version: 1, allow }, places);
    allow.push({ host: 'two.example' });
    const text = source.asStartOptions().document?.() ?? '';
    expect(JSON.parse(text)).toEqual({ version: 1, allow: [{ host: 'one.example' }] });
  });

  test('of a file is not replaced by an object: nobody could see which of them holds', async () => {
    writeConfig();
    const source = await LibraryPolicy.find(undefined, places);
    expect(() => source.replace({ version: 1 })).toThrow('the policy of this gateway is a file');
  });
});
