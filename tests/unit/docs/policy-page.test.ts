import { describe, expect, test } from 'vitest';
import { policyOf, pretendMachine } from '../policy/pretend-machine.ts';
import { readPage } from './pages.ts';

const machine = pretendMachine({ npm: 'https://registry.example/\n' });
const blocks = ['README.md', 'docs/policy.md'].flatMap((page) =>
  [...readPage(page).text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text]) => ({ page, text: text! })),
);

describe('the policies of the README and of the tutorial', () => {
  test('are there', () => {
    expect(blocks.length).toBeGreaterThan(6);
  });

  test.each(blocks)('$page, example %#: loads as it stands, without a warning', async ({ text }) => {
    const { warnings } = await policyOf(text, machine);
    expect(warnings).toEqual([]);
  });
});
