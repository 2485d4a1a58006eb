// What a sandbox writes into a path or a host ends in the journal and, with `sallyport logs`, on the operator's screen.
// No escape sequence in it may clear the screen, forge a line, turn the text around or fill the clipboard.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runWith } from '../../unit/cli/command-line.ts';
import { type Running, startFake } from '../../unit/gateway/admin/fake-ports.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

const hostile = '/a\u001b[2J\u001b]52;c;ZXZpbA==\u0007\nforged line\r\u009b31m\u202egnp.exe\u0000';

const record = {
  seq: 1,
  time: '2027-01-15T12:00:03.123Z',
  sandbox: 'sbx_1',
  verdict: 'refused',
  status: 403,
  method: 'GET',
  scheme: 'https',
  host: 'evil.example',
  port: 443,
  path: hostile,
  query: `q${hostile}`,
  code: 'domain.not-allowed',
  reason: `because ${hostile}`,
  ms: 1.25,
};

/** Everything a terminal acts upon, beside the newline that ends our own line. */
function dangerous(text: string): string[] {
  return [...text].filter((character) => {
    const code = character.codePointAt(0)!;
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e);
  });
}

describe('records of the journal are harmless on a screen', () => {
  test('one record is one line without control characters, and still tells what was there', async () => {
    gateway.ports.journal = [record];
    const { code, out } = await runWith(['logs'], { home: gateway.home });
    expect(code).toBe(0);
    expect(out.endsWith('\n')).toBe(true);
    expect(dangerous(out.slice(0, -1))).toEqual([]);
    expect(out).toContain('evil.example/a\\x1b[2J');
    expect(out).toContain('forged line');
  });

  test('the same for what sandboxes and checks are called', async () => {
    gateway.ports.records.set('x', { id: `x${hostile}`, repos: [hostile] });
    const { out } = await runWith(['list'], { home: gateway.home });
    expect(out.split('\n')).toHaveLength(3);
    expect(dangerous(out.replaceAll('\n', ''))).toEqual([]);
  });
});
