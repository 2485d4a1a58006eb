// The lint sees promises that nobody waits for: its rules are young, and one that goes blind would say nothing.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from './pages.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-lint-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const planted = {
  'acts.ts': 'export async function act(): Promise<void> {}\n',
  'floats.ts': "import { act } from './acts.ts';\n\nexport function go(): void {\n  act();\n}\n",
  'floats-perhaps.ts':
    'export class Gate {\n  enter(): true | Promise<true> {\n    return true;\n  }\n}\n\nexport function go(gate: Gate): void {\n  gate.enter();\n}\n',
  'misused.ts':
    "import { act } from './acts.ts';\n\nexport function go(ids: number[]): void {\n  ids.forEach(async () => {\n    await act();\n  });\n}\n",
  'handled.ts':
    "import { act } from './acts.ts';\n\nexport async function go(): Promise<void> {\n  void act();\n  act().catch(() => {});\n  await act();\n}\n",
};

test('a promise that floats is reported, also of another file and where it is only perhaps one', () => {
  for (const [name, text] of Object.entries(planted)) writeFileSync(join(folder, name), text);
  copyFileSync(join(root, 'biome.json'), join(folder, 'biome.json'));
  const biome = join(root, 'node_modules', '.bin', 'biome');
  const { stdout, status } = spawnSync(biome, ['lint', '--vcs-enabled=false', '--reporter=github', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const found = [...stdout.matchAll(/title=lint\/nursery\/(\w+),file=(?:[^,]*\/)?([\w-]+\.ts)/g)];
  expect(found.map(([, rule, file]) => `${file} ${rule}`).sort()).toEqual([
    'floats-perhaps.ts noFloatingPromises',
    'floats.ts noFloatingPromises',
    'misused.ts noMisusedPromises',
  ]);
  expect(status).toBe(1);
});
