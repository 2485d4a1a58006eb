import { describe, expect, test } from 'vitest';
import { policyOf } from '../policy/pretend-machine.ts';
import { readPage } from './pages.ts';

const { text } = readPage('docs/secrets.md');
const examples = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map((match) => match[1]!);

describe('docs/secrets.md', () => {
  test('has an example of every plain source', async () => {
    const kinds = new Set<string>();
    for (const example of examples) {
      const { credentials } = await policyOf(example);
      for (const { source } of credentials.values()) kinds.add(source.kind);
    }
    expect([...kinds]).toEqual(expect.arrayContaining(['file', 'command', 'memory', 'age', 'keyring']));
  });

  test.each(examples)('example %# is a configuration that loads', async (example) => {
    const { credentials, warnings } = await policyOf(example);
    expect(credentials.size).toBeGreaterThan(0);
    expect(warnings).toEqual([]);
  });
});
