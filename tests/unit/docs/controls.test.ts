// The list of controls that are broken on request (npm run break-controls): it must not rot between two such runs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from './pages.ts';
import { readThreats } from './threats.ts';

interface Control {
  readonly name: string;
  readonly threat: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
  readonly tests: readonly string[];
}

const controls = JSON.parse(readFileSync(join(root, 'scripts/controls.json'), 'utf8')) as readonly Control[];
const testsOf = new Map(readThreats().map(({ number, tests }) => [number, tests]));

describe('controls that are broken on request', () => {
  test('are many, and each has a name of its own', () => {
    expect(controls.length).toBeGreaterThan(90);
    expect(new Set(controls.map(({ name }) => name)).size).toBe(controls.length);
  });

  test.each(controls)('$threat $name: what is to be broken is there once, and is changed', (control) => {
    const { file, text, instead } = control;
    expect(existsSync(join(root, file)), `${file} does not exist`).toBe(true);
    expect(readFileSync(join(root, file), 'utf8').split(text).length - 1, `${text} in ${file}`).toBe(1);
    expect(instead).not.toBe(text);
  });

  test.each(controls)('$threat $name: its tests exist, and the threats name them for it', ({ threat, tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const path of tests) {
      expect(existsSync(join(root, path)), `${path} does not exist`).toBe(true);
      expect(testsOf.get(threat) ?? [], `${threat} in docs/threats/`).toContain(path);
    }
  });
});
