import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { cutTo, fillTo, widthOf, wrap } from '../../../../src/cli/terminal/fit-text.ts';
import { frame, question, request, viewOf } from './watch-ground.ts';

const refused = request({ verdict: 'refused', status: 403, code: 'domain.not-allowed', host: 'x.example', path: '/' });

describe('the frame of `sallyport watch`', () => {
  test('without a question: the head, the newest requests, the keys', () => {
    expect(frame(viewOf(request(), refused), 80, 8)).toEqual([
      ' sallyport 0.1.0  ready  2 sandboxes  0.0 requests/s  1 of 2 refused',
      ' connected',
      ' REQUESTS',
      ' 00:00:00 sbx_1      allowed   200 GET api.example.com/v1/models           12 ms',
      ' 00:00:00 sbx_1      refused   403 GET x.example/ domain.not-allowed       12 ms',
      '',
      '',
      ' r refused only  f filter  p pause  q quit',
    ]);
  });

  test('with questions: the selected one whole, and how long each has left', () => {
    const asked = question('q2', {
      method: 'POST',
      port: 8443,
      credential: 'my-api',
      reason: 'I need it',
      sandbox: 's',
    });
    const view = viewOf(question('q1'), asked, request());
    view.press('j', 0);
    expect(frame(view)).toEqual([
      ' sallyport 0.1.0  ready  2 sandboxes  0.0 requests/s  0 of 1 refused',
      ' connected',
      ' WAITING FOR YOU (2)',
      ' q1     sbx_1          GET https://new.example.com/v1/things                90 s',
      '>q2     s              POST https://new.example.com:8443/v1/things          90 s',
      '   POST https://new.example.com:8443/v1/things',
      '   rule allow[2], with my-api',
      '   it says: "I need it"',
      '',
      ' REQUESTS',
      ' 00:00:00 sbx_1      allowed   200 GET api.example.com/v1/models           12 ms',
      '',
      '',
      '',
      '',
      ' ↑↓ select  a approve once  m for 15 min  d deny  r refused only  f filter  p p…',
    ]);
  });

  test('keeps the keys on the screen where there is room for nothing else', () => {
    const view = viewOf(question('q1', { reason: 'so' }), ...Array.from({ length: 9 }, () => request()));
    for (const rows of [6, 9, 10, 11]) {
      const lines = frame(view, 80, rows);
      expect(lines).toHaveLength(rows);
      expect(lines.at(-1)).toContain('a approve once');
    }
  });

  test('shows the query of what it asks about: it may say as much as the path', () => {
    const text = frame(viewOf(question('q1', { query: 'send=\u001b[2Jall' }))).join('\n');
    expect(text).toContain('GET https://new.example.com/v1/things?send=\\x1b[2Jall');
  });

  test('says of what could not be read no more than is known', () => {
    const lines = frame(viewOf(request({ host: null, path: null, method: null, scheme: 'http', verdict: 'refused' })));
    expect(lines.join('\n')).not.toContain('http://');
  });

  test('says what is filtered, paused, left out, and that no gateway is there', () => {
    const view = viewOf({ event: 'lost', data: { count: 7 } }, request());
    view.gateway = null;
    view.type('prfapi\r', 0);
    const text = frame(view, 100).join('\n');
    expect(text).toContain(' sallyport  no gateway  0.0 requests/s  0 of 1 refused  7 not shown: too many at once');
    expect(text).toContain(' REQUESTS (paused, refused only, filter: api)');
  });

  test.each([
    [20, 6],
    [40, 10],
    [55, 12],
    [79, 24],
    [200, 50],
  ])('fits a terminal of %i columns and %i rows, whatever comes', (columns, rows) => {
    const long = {
      path: `/${'x'.repeat(900)}`,
      host: '例え.example',
      reason: 'because '.repeat(200),
      inVain: 'no '.repeat(90),
    };
    const events = Array.from({ length: 40 }, (_, at) => [
      question(`q${at}`, long),
      request({ ...long, sandbox: 's'.repeat(90) }),
    ]);
    const view = viewOf(...events.flat());
    for (let at = 0; at < 30; at++) view.press('j', 0);
    const lines = frame(view, columns, rows);
    expect(lines.length).toBe(rows);
    for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
    // The one that a key would answer is on the screen.
    if (rows > 6) expect(lines.some((line) => line.startsWith('>q30'))).toBe(true);
  });

  test('a long address is shown to its end before it is answered', () => {
    const path = `/${'x'.repeat(900)}/the-end`;
    const text = frame(viewOf(question('q1', { path })), 80, 24).map((line) => line.slice(3));
    expect(text.join('')).toContain(`https://new.example.com${path}`);
  });

  test('colours come on top of the same text', () => {
    const view = viewOf(question('q1'), request(), refused);
    const coloured = frame(view, 80, 16, true);
    expect(coloured.join('')).toContain('\u001b[32m');
    expect(coloured.map(stripVTControlCharacters)).toEqual(frame(view));
  });
});

describe('text in cells', () => {
  test('wide characters take two, marks none', () => {
    expect([widthOf('abc'), widthOf('日本'), widthOf('e\u0301'), widthOf('🙂')]).toEqual([3, 4, 1, 2]);
    expect(cutTo('日本語', 4)).toBe('日…');
    expect(fillTo('日本語', 4)).toBe('日… ');
    expect(fillTo('ab', 4)).toBe('ab  ');
    expect(cutTo('ab', 0)).toBe('');
  });

  test('long text is broken into lines, and what is left out is shown to be', () => {
    expect(wrap('abcdefg', 3, 9)).toEqual(['abc', 'def', 'g']);
    expect(wrap('abcdefg', 3, 2)).toEqual(['abc', 'de…']);
  });
});
