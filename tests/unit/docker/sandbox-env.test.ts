import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { expectedSandboxEnvironment } from '../../support/compose-environment.ts';
import { root } from '../../support/compose-images.ts';

describe('docker/sandbox.env', () => {
  test('says what a sandbox of `sallyport run` would have, under the same headings', () => {
    const text = readFileSync(`${root}/docker/sandbox.env`, 'utf8');
    const [, ...sections] = text.split('\n\n# ');
    const found = sections.map((section) => {
      const [title, ...lines] = section.trimEnd().split('\n');
      return [title, Object.fromEntries(lines.map((line) => /^([^=]+)=(.*)$/.exec(line)!.slice(1)))];
    });
    expect(Object.fromEntries(found)).toEqual(expectedSandboxEnvironment());
  });
});
