// Attack: make the gateway log something that throws, loops, never ends or takes for ever, or that writes to the
// operator's terminal.
import { describe, expect, test } from 'vitest';
import { maskText } from '../../../../src/kit/mask-text.ts';
import { createLog, type LogDetail } from '../../../../src/kit/text/log.ts';

function logged(format: 'json' | 'short', message: string, detail?: LogDetail): string {
  let out = '';
  createLog({
    format,
    color: false,
    write: (line) => {
      out += line;
    },
  }).warn(message, detail);
  return out;
}

describe('the log survives what it is given', () => {
  test('circles, throwing getters, throwing toJSON, deep and wide objects, odd values', () => {
    const circle: Record<string, unknown> = { name: 'circle' };
    circle.self = circle;
    let deep: Record<string, unknown> = {};
    for (let i = 0; i < 10_000; i++) deep = { deep };
    const bad = {
      get trap(): string {
        throw new Error('trap');
      },
    };
    const worse = {
      toJSON() {
        throw new Error('trap');
      },
    };
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]));
    const detail = {
      circle,
      deep,
      bad,
      worse,
      wide,
      big: 10n,
      sym: Symbol('s'),
      fn: () => 1,
      none: undefined,
      nan: Number.NaN,
    };
    const entry = JSON.parse(logged('json', 'odd', detail));
    expect(entry.circle.self).toBe('[circular]');
    expect(entry.bad).toBe('[unprintable]');
    expect(entry.worse).toBe('[unprintable]');
    expect(Object.keys(entry.wide)).toHaveLength(101);
    expect(entry.big).toBe('10');
  });

  test('a detail cannot speak for the log itself', () => {
    const entry = JSON.parse(logged('json', 'real', JSON.parse('{"msg":"forged","__proto__":{"polluted":1}}')));
    expect(entry.msg).toBe('real');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(logged('json', '100%s of %d %j', { a: 1 })).toContain('100%s of %d %j');
  });

  test('a huge text is cut', () => {
    expect(logged('json', 'x '.repeat(500_000)).length).toBeLessThan(20_000);
  });

  test.each([
    'a.'.repeat(8000),
    'a://'.repeat(4000),
    'https://'.repeat(2000),
    `https://h/?${'a=&'.repeat(5000)}`,
    '"'.repeat(16_000),
    `authorization: "${'\\'.repeat(16_000)}`,
    'token='.repeat(2600),
    'bearer '.repeat(2300),
    'sk-'.repeat(5300),
    `eyJ${'a.'.repeat(8000)}`,
    '-----BEGIN PRIVATE KEY-----'.repeat(590),
    '?'.repeat(16_000),
    ' '.repeat(16_000),
  ])('masking stays quick on %#', (text) => {
    const before = process.cpuUsage();
    maskText(text);
    const { user } = process.cpuUsage(before);
    // Ten thousand times what a linear pass takes would be seconds; the bound is far from both.
    expect(user / 1000).toBeLessThan(1000);
  });
});

describe('a terminal shows text, not commands', () => {
  test('escape sequences, newlines and direction marks of a sandbox are spelled out', () => {
    const line = logged('short', 'refused \u001b[2J\u001b]0;owned\u0007', {
      path: '/a\n12:00:00 info  forged line\r\u202e',
      'key\u001b[1m': 1,
    });
    expect(line.trimEnd().split('\n')).toHaveLength(1);
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain('\\x1b[2J');
  });

  test('short lines say time, level, message, fields and the causes of an error', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    expect(logged('short', 'it broke', { id: 'req-1', error })).toMatch(
      /^\d\d:\d\d:\d\d warn {2}it broke id=req-1 error=outer: inner\n$/,
    );
  });
});
