// A credential given to `sallyport secret set` must reach the gateway and nothing else: not the screen, not an error, and
// it must not be taken from the command line, where every process list shows it.
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runWith } from '../../unit/cli/command-line.ts';
import { type Running, startFake } from '../../unit/gateway/admin/fake-ports.ts';

const value = 'sk-ant-HUNTER2-do-not-show';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

describe('a secret is not taken from the command line', () => {
  test.each([
    ['as an argument', ['secret', 'set', 'anthropic', value]],
    ['as an option with =', ['secret', 'set', 'anthropic', `--value=${value}`]],
    ['as an option', ['secret', 'set', 'anthropic', '--value', value]],
    ['in the place of the name', ['secret', 'set', value]],
    ['before the name, as an option', ['secret', 'set', `--value=${value}`, 'anthropic']],
  ])('%s: exit 2, nothing set, and the value is not repeated', async (_where, argv) => {
    const { code, out, err } = await runWith(argv, { home: gateway.home, stdin: 'from-stdin' });
    expect(code).toBe(2);
    expect(out + err).not.toContain('HUNTER2');
    expect(err).not.toBe('');
    expect(gateway.ports.secrets.size).toBe(0);
  });
});

describe('a secret on standard input is not shown', () => {
  test('from a pipe it arrives without its final newline, and the answer names the credential only', async () => {
    const { code, out, err } = await runWith(['secret', 'set', 'anthropic'], {
      home: gateway.home,
      stdin: `${value}\n`,
    });
    expect([code, out, err]).toEqual([0, 'Set anthropic\n', '']);
    expect(gateway.ports.secrets.get('anthropic')).toBe(value);
    const listed = await runWith(['secret', 'list', '--json'], { home: gateway.home });
    expect(listed.out).toContain('anthropic');
    expect(listed.out + listed.err).not.toContain('HUNTER2');
  });

  test('on a terminal it is typed unseen, in raw mode, with backspace', async () => {
    const modes: boolean[] = [];
    const stdin = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (raw: boolean) => modes.push(raw),
    });
    stdin.write(`${value}xx\u007f\u007f\r`);
    const { code, out, err } = await runWith(['secret', 'set', 'anthropic'], { home: gateway.home, stdin });
    expect(code).toBe(0);
    expect(modes).toEqual([true, false]);
    expect(gateway.ports.secrets.get('anthropic')).toBe(value);
    expect(out + err).not.toContain('HUNTER2');
  });

  test('Ctrl-C on a terminal sets nothing and gives the terminal back', async () => {
    const modes: boolean[] = [];
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) });
    stdin.write('half-typed\u0003');
    const { code, out, err } = await runWith(['secret', 'set', 'anthropic'], { home: gateway.home, stdin });
    expect(code).toBe(1);
    expect(modes).toEqual([true, false]);
    expect(gateway.ports.secrets.size).toBe(0);
    expect(out + err).not.toContain('half-typed');
  });

  test('an error of the gateway, or no gateway at all, does not show it either', async () => {
    const broken = await runWith(['secret', 'set', 'broken'], { home: gateway.home, stdin: value });
    expect(broken.code).toBe(1);
    const nobody = await runWith(['secret', 'set', 'anthropic'], { stdin: value });
    expect(nobody.code).toBe(4);
    expect(broken.out + broken.err + nobody.out + nobody.err).not.toContain('HUNTER2');
  });

  test('nothing on standard input, or more than a credential can be, is wrong usage', async () => {
    expect((await runWith(['secret', 'set', 'anthropic'], { home: gateway.home, stdin: '\n' })).code).toBe(2);
    const long = await runWith(['secret', 'set', 'anthropic'], { home: gateway.home, stdin: 'x'.repeat(70_000) });
    expect(long.code).toBe(2);
    expect(gateway.ports.secrets.size).toBe(0);
  });
});
