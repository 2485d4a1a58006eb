// A sandbox can write .npmrc into the project it works on. If the gateway took registries from there, the sandbox
// could allow itself any host.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadPolicyText } from '../../../src/policy/load/load-policy.ts';
import { thisMachine } from '../../../src/policy/load/machine-files.ts';

const before = process.cwd();
let project: string;
let home: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'sallyport-project-'));
  home = mkdtempSync(join(tmpdir(), 'sallyport-home-'));
  writeFileSync(join(project, '.npmrc'), 'registry=https://planted.example/\n@a:registry=https://planted.example/\n');
  writeFileSync(join(project, 'package.json'), '{"name":"x"}');
  process.chdir(project);
});

afterAll(() => {
  process.chdir(before);
  rmSync(project, { recursive: true });
  rmSync(home, { recursive: true });
});

test('neither our own reading nor the npm that is asked takes a registry from the working directory', async () => {
  const machine = { ...thisMachine(), home, env: {} };
  const result = await loadPolicyText('version: 1\nallow: [{preset: npm}]\n', 'test', '/', machine);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  expect(result.policy.allow.map((rule) => rule.host.text)).not.toContain('planted.example');
  expect(result.policy.rulesFor('planted.example')).toEqual([]);
  // The program was really asked from elsewhere: it answers `/`, whatever directory we stand in.
  expect(await machine.run(['pwd'])).toBe('/\n');
});
