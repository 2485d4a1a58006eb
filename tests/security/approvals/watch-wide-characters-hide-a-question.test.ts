// A terminal draws some characters over two cells. A path or a reason full of those that are counted as one would make lines wider
// than the screen: they wrap, the frame scrolls, and the question that a key would answer is gone from the screen.
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { FullScreen } from '../../../src/cli/watch/full-screen.ts';
import { frame, question, request, viewOf } from '../../unit/cli/watch/watch-ground.ts';

/** Pictures among narrow symbols, brackets, Hangul, Yi, Tangut, Khitan, Kana of the supplement, Nüshu, a tile, a card, Han. */
const wide = [
  ...'\u231a\u23e9\u26a1\u2705\u274c\u27b0\u2b50\u2b55\u2329\u{1f004}\u{1f0cf}\u{1f18e}\u{1f6d7}\u{1f90c}',
  ...'\u1100\ua015\ua960\ufe13\u{16fe0}\u{17000}\u{18b00}\u{1b000}\u{1b170}\u{20000}\u4e00\uac00\uff21',
];
const columns = 60;

test('a line is as wide as a terminal draws it, and shows the whole of what it asks about', () => {
  for (const character of wide) {
    const long = { path: `/${character.repeat(90)}/the-end`, reason: character.repeat(300) };
    const lines = frame(viewOf(question('q1', long), request(long)), columns, 24);
    for (const line of lines) {
      const cells = [...line].length + line.split(character).length - 1;
      expect(cells, `${character} ${line}`).toBeLessThanOrEqual(columns);
    }
    expect(lines.join('')).toContain('/the-end');
  }
});

test('nor does a terminal that draws something wider still wrap it, and it does so again when it is given back', () => {
  let written = '';
  const stdin = Object.assign(new EventEmitter(), { setRawMode() {}, resume() {}, pause() {} });
  const stdout = Object.assign(new EventEmitter(), { write: (text: string) => (written += text) });
  const screen = new FullScreen({ stdin: stdin as never, stdout, frame: () => ['the frame'], onKeys() {} });
  screen.open();
  screen.close();
  const [before, after] = written.split('the frame');
  expect(before).toContain('\u001b[?7l');
  expect(before).not.toContain('\u001b[?7h');
  expect(after).toContain('\u001b[?7h');
});
