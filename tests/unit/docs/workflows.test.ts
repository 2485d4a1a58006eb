// What runs on a public forge: the one test command, without rights, and no code that somebody can exchange.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readPage, root } from './pages.ts';

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, { readonly permissions?: unknown; readonly steps: readonly Step[] }>>;
}
interface Step {
  readonly uses?: string;
  readonly run?: string;
}

const folder = '.github/workflows';

test('every workflow may only read, and names what it uses by commit', () => {
  for (const file of readdirSync(join(root, folder))) {
    const { permissions, jobs }: Workflow = parse(readPage(`${folder}/${file}`).text);
    expect(permissions, file).toEqual({ contents: 'read' });
    for (const job of Object.values(jobs)) {
      expect(job.permissions, file).toBeUndefined();
      for (const { uses } of job.steps) if (uses !== undefined) expect(uses, file).toMatch(/@[0-9a-f]{40}$/);
    }
  }
});

test('the test command is run on the oldest Node that package.json allows', () => {
  const { text } = readPage(`${folder}/ci.yml`);
  const { jobs }: Workflow = parse(text);
  expect(jobs.test?.steps.at(-1)?.run).toMatch(/ scripts\/test$/);
  const oldest = JSON.parse(readPage('package.json').text).engines.node.replace('>=', '');
  expect(text).toContain(`node: ["${oldest}", `);
});
