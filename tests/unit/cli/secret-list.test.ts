import { createColors } from 'picocolors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeCredentials } from '../../../src/cli/secret.ts';
import { agoInWords, sinceInWords, spanInWords, untilInWords } from '../../../src/cli/terminal/time-in-words.ts';
import type { CredentialStatus } from '../../../src/gateway/admin/admin-ports.ts';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

const now = Date.UTC(2027, 0, 15, 12);
const at = (minutes: number): string => new Date(now + minutes * 60_000).toISOString();
const plain = { colors: createColors(false) };

function credential(name: string, parts: Partial<CredentialStatus> = {}): CredentialStatus {
  const nothing = { set: false, unasked: false, login: false, since: null, expires: null, lastUsed: null, error: null };
  return { name, source: 'file', ...nothing, ...parts };
}

describe('times in words', () => {
  test.each([
    [0, '0 s'],
    [59, '59 s'],
    [119, '119 s'],
    [120, '2 min'],
    [43 * 60 + 59, '43 min'],
    [7199, '119 min'],
    [7200, '2 h'],
    [47 * 3600, '47 h'],
    [48 * 3600, '2 days'],
    [400 * 86_400, '400 days'],
    [-5, '0 s'],
  ])('%i seconds are %s', (seconds, words) => {
    expect(spanInWords(seconds * 1000)).toBe(words);
  });

  test('before, after and not known', () => {
    expect([untilInWords(at(43), now), untilInWords(at(0), now), untilInWords(null, now)]).toEqual([
      ...['in 43 min', 'expired', '-'],
    ]);
    expect([agoInWords(at(-5), now), agoInWords(undefined, now)]).toEqual(['5 min ago', 'never']);
    expect([sinceInWords(at(-300), now), sinceInWords('no time', now)]).toEqual(['5 h', '-']);
  });
});

describe('the table of credentials', () => {
  test('says for each where it comes from, how old it is, when it ends, when it was used; problems on lines of their own', () => {
    const lines = describeCredentials(
      plain,
      [
        credential('anthropic', {
          ...{ source: '~/.claude/.credentials.json', set: true, login: true },
          ...{ since: at(-130), expires: at(43), lastUsed: at(-2) },
        }),
        credential('github', { error: '/run/secrets/github does not exist: put the credential there (mode 600)' }),
        credential('my-api', { source: 'command', unasked: true }),
        credential('openai', { source: 'memory', set: true, since: at(-3000), expires: at(-1) }),
      ],
      now,
    );
    expect(lines).toEqual([
      'NAME       STATE       AGE     EXPIRES    LAST USE   SOURCE',
      'anthropic  set         2 h     in 43 min  2 min ago  ~/.claude/.credentials.json',
      'github     unreadable  -       -          never      file',
      '  problem  /run/secrets/github does not exist: put the credential there (mode 600)',
      'my-api     when used   -       -          never      command',
      'openai     set         2 days  expired    never      memory',
    ]);
    const rows = lines.filter((line) => !line.includes('problem'));
    expect(Math.max(...rows.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('lets nothing in a name, a source or a problem act on the terminal', () => {
    const evil = credential('a\u001b[2J', { source: 'b\u001b]0;x', error: 'c\u202e' });
    const shown = describeCredentials(plain, [evil], now).join('');
    for (const character of ['\u001b', '\u202e']) expect(shown).not.toContain(character);
    expect(shown).toContain('a\\x1b[2J');
  });
});

describe('sallyport secret list', () => {
  let running: Running;
  beforeAll(async () => {
    running = await startFake();
    await running.ports.setCredential('anthropic', 'PLANTED-value');
  });
  afterAll(() => running.stop());

  test('prints the table, and with --json what the gateway says, never a value', async () => {
    const table = await runWith(['secret', 'list'], { home: running.home });
    expect(table).toMatchObject({ code: 0, err: '' });
    expect(table.out).toMatch(/^NAME .*\nanthropic +set +- +- +never +memory\n$/);
    const json = await runWith(['secret', 'list', '--json'], { home: running.home });
    expect(JSON.parse(json.out)).toEqual([{ name: 'anthropic', source: 'memory', set: true }]);
    expect(table.out + json.out).not.toContain('PLANTED');
  });

  test('says how to give a value to one that waits for it', async () => {
    running.ports.listCredentials = () => [credential('mine', { source: 'memory' })];
    const { out, err } = await runWith(['secret', 'list'], { home: running.home });
    expect(out).toContain('mine  missing');
    expect(err).toContain('sallyport secret set NAME < file');
  });
});
