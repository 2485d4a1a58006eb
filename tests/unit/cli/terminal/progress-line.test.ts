import { expect, test } from 'vitest';
import { ProgressLine } from '../../../../src/cli/terminal/progress-line.ts';

test('on a terminal the line is written over, and gone when something else is printed', () => {
  const written: string[] = [];
  const line = new ProgressLine({ isTerminal: true }, (text) => written.push(text));
  line.show('1/2 one');
  line.show('2/2 two');
  line.clear();
  line.clear();
  expect(written).toEqual(['\r\u001b[K1/2 one …', '\r\u001b[K2/2 two …', '\r\u001b[K']);
});

test('in a pipe nothing is said', () => {
  const written: string[] = [];
  const line = new ProgressLine({ isTerminal: false }, (text) => written.push(text));
  line.show('1/2 one');
  line.clear();
  expect(written).toEqual([]);
});
