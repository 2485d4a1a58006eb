// Pages that are made from the program are what it makes today. `npm run docs` writes them anew.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandsPage } from './commands-page.ts';
import { keysPage } from './keys-page.ts';
import { root } from './pages.ts';

describe('pages made from the program', () => {
  test('docs/commands.md', async () => {
    await expect(commandsPage()).toMatchFileSnapshot(join(root, 'docs/commands.md'));
  });

  test('docs/policy/keys.md', async () => {
    await expect(keysPage()).toMatchFileSnapshot(join(root, 'docs/policy/keys.md'));
  });
});
