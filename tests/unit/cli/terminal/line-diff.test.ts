import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineDiff } from '../../../../src/cli/terminal/line-diff.ts';

test('a line that changed is one that is gone and one that is new; what lies around is left out', () => {
  expect(lineDiff('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual(['- b', '+ B', '+ d']);
  expect(lineDiff('', 'a\nb')).toEqual(['+ a', '+ b']);
  expect(lineDiff('a\nb\n', 'a\nb')).toEqual([]);
});

test('nothing that is new is left out, and nothing that is gone', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, now) => {
      const diff = lineDiff(`${before.join('\n')}\n`, `${now.join('\n')}\n`);
      const count = (lines: readonly string[], line: string): number => lines.filter((one) => one === line).length;
      for (const line of ['a', 'b', 'c', 'd'])
        expect(count(before, line) - count(diff, `- ${line}`) + count(diff, `+ ${line}`)).toBe(count(now, line));
    }),
  );
});
