// Hosts, paths and reasons are a sandbox's own words. On the screen of `sallyport watch` they must stay text: no escape
// sequence, no line of their own that looks like ours, no writing that runs backwards, nothing that nobody would see.

import picocolors from 'picocolors';
import { expect, test } from 'vitest';
import { printable } from '../../../src/cli/terminal/printable.ts';
import { describeEvent } from '../../../src/cli/watch.ts';
import { frame, question, request, viewOf } from '../../unit/cli/watch/watch-ground.ts';

/** Drawn as nothing: a soft hyphen, joiners, blank letters, a vowel separator, a variation selector, a tag, Braille's blank. */
const invisible = '\u00ad\u034f\u115f\u180e\u200b\u2063\u2800\u3164\ufe0f\uffa0\u{e0041}\u{e0101}\ud800';
const hostile = `\u001b[2J\u001b]52;c;AAAA\u0007\r\n>q9 approved\u202egnp\u009b31m\u0000\u2028x${invisible}`;
const texts = [
  'id',
  'sandbox',
  'method',
  'host',
  'path',
  'rule',
  'credential',
  'effect',
  'repository',
  'reason',
  'inVain',
];
const asked = question('q1', Object.fromEntries(texts.map((name) => [name, hostile])));
const sent = request(
  Object.fromEntries(['time', 'sandbox', 'method', 'host', 'path', 'verdict', 'code'].map((name) => [name, hostile])),
);
const unsafe = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/u;

test('whatever a sandbox says stays within its line, as text', () => {
  const view = viewOf(asked, sent, { event: 'request', data: { time: hostile, note: 'lost', text: hostile } });
  view.message = hostile;
  view.gateway = { ready: true, version: hostile, sandboxes: 1 };
  const lines = frame(view, 400, 20);
  expect(lines).toHaveLength(20);
  for (const line of lines) expect(line).not.toMatch(unsafe);
  expect(lines.join('\n')).toContain('\\x1b[2J');
  expect(lines.filter((line) => line.startsWith('>'))).toHaveLength(1);
});

test('two names that look alike do not on the screen', () => {
  for (const character of invisible) {
    const host = `api${character}.example.com`;
    expect(printable(host)).toMatch(/^api\\[xu][0-9a-f{}]+\.example\.com$/);
    expect(frame(viewOf(request({ host })), 200, 20).join('\n')).not.toContain('api.example.com');
  }
  expect(printable('/größe/日本/✓ a')).toBe('/größe/日本/✓ a');
});

test('in a pipe, too', () => {
  const context = { colors: picocolors.createColors(false) };
  const answered = { event: 'answered', data: { id: hostile, verdict: { granted: true, how: hostile } } };
  for (const event of [asked, sent, answered, { event: 'lost', data: { count: hostile } }]) {
    expect(describeEvent(context, event)).not.toMatch(unsafe);
  }
});
