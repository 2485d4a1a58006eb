import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFake } from '../../gateway/admin/fake-ports.ts';
import { runWith } from '../command-line.ts';

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-completion-'));
  writeFileSync(join(folder, 'script'), (await runWith(['completion', 'bash'])).out);
  // In the place of the command that the script asks for names.
  writeFileSync(join(folder, 'sallyport'), '#!/bin/sh\n[ "$1" = __complete ] && printf "%s\\n" "$2-1" "$2-2"\n');
  chmodSync(join(folder, 'sallyport'), 0o755);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function inFolder(): { PATH: string } {
  return { PATH: `${folder}:/usr/bin:/bin` };
}

/** What bash itself offers for each of these lines, the last word of which is being typed. */
function offered(...lines: readonly string[]): string[] {
  const program = [
    `source ${join(folder, 'script')}`,
    `while IFS= read -r line; do IFS=" " read -ra COMP_WORDS <<< "$line"; [ "\${line: -1}" = " " ] && COMP_WORDS+=("")`,
    `COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _sallyport; echo "\${COMPREPLY[*]}"; done`,
  ].join('\n');
  const options = { input: `${lines.join('\n')}\n`, encoding: 'utf8', env: inFolder() } as const;
  return execFileSync('bash', ['--norc', '-c', program], options).split('\n').slice(0, -1);
}

describe('completion in a real bash', () => {
  test('offers commands, options, choices and names', () => {
    const [commands, below, choices, options, sandboxes, credentials, shells, value, joined] = offered(
      'sallyport r',
      'sallyport secret ',
      'sallyport run --launcher ',
      'sallyport --json logs --s',
      'sallyport unregister ',
      'sallyport run --credential credentials-2',
      'sallyport completion z',
      'sallyport check GET --sandbox ',
      'sallyport run --mode = u',
    );
    expect(commands?.split(' ')).toEqual(expect.arrayContaining(['run', 'redteam', 'register', 'renew']));
    expect(commands?.split(' ').every((word) => word.startsWith('r'))).toBe(true);
    expect([below, choices, options]).toEqual([
      'set list rm',
      'bubblewrap docker namespaces podman unshare',
      '--sandbox',
    ]);
    expect([sandboxes, credentials, shells]).toEqual(['sandboxes-1 sandboxes-2', 'credentials-2', 'zsh']);
    expect([value, joined]).toEqual(['sandboxes-1 sandboxes-2', 'user']);
  });

  test('offers programs behind --, and never what is hidden', () => {
    const [program, hidden, hiddenToo, all] = offered(
      'sallyport run -- sallypor',
      'sallyport wor',
      'sallyport __',
      'sallyport ',
    );
    expect(program).toContain('sallyport');
    expect([hidden, hiddenToo]).toEqual(['', '']);
    expect(all?.split(' ')).toEqual(expect.arrayContaining(['init', 'watch', 'completion', 'up']));
  });

  test('is registered for the command by its name', () => {
    const registered = execFileSync('bash', [
      '--norc',
      '-c',
      `source ${join(folder, 'script')}; complete -p sallyport`,
    ]);
    expect(registered.toString()).toContain('-F _sallyport sallyport');
  });
});

/** From a file, in a folder of its own: fish cannot read what Node gives it as standard input. A shell that is missing is an error. */
function readBy(shell: string, options: readonly string[], text: string) {
  const file = join(mkdtempSync(join(folder, `${shell}-`)), 'script');
  writeFileSync(file, text);
  const env = { ...inFolder(), HOME: dirname(file) };
  const read = spawnSync(shell, [...options, file], { encoding: 'utf8', env, cwd: dirname(file) });
  if (read.error !== undefined) throw read.error;
  return read;
}

describe('completion for other shells', () => {
  test.each(['zsh', 'fish'])('%s gets a script with every command, which it can read', async (shell) => {
    const { code, out } = await runWith(['completion', shell]);
    expect(code).toBe(0);
    for (const word of ['redteam', 'unregister', 'launcher', 'bubblewrap docker namespaces podman unshare'])
      expect(out).toContain(word);
    expect(out).not.toMatch(/\bworker\b/);
    const read = readBy(shell, ['-n'], out);
    expect([read.status, read.stderr]).toEqual([0, '']);
  });

  test('zsh completes commands and programs with it', async () => {
    const { out } = await runWith(['completion', 'zsh']);
    // Under its own names: what a script of bash calls `commands` or `options` would hide them.
    const lines = ['autoload -U +X compinit && compinit -D -u', out, 'emulate sh'];
    for (const words of ["sallyport policy ''", 'sallyport run sallypor']) {
      lines.push(`COMP_WORDS=(${words}); COMP_CWORD=2; _sallyport; echo "\${COMPREPLY[*]}"`);
    }
    const read = readBy('zsh', ['-f'], lines.join('\n'));
    const [below, programs] = read.stdout.split('\n');
    expect([below, read.stderr]).toEqual(['test explain', '']);
    expect(programs?.split(' ')).toContain('sallyport');
  });

  test('fish completes by the words so far, and what follows -- by itself', async () => {
    const { out } = await runWith(['completion', 'fish']);
    const asked = [
      'policy ',
      'run --launcher ',
      'run --repo up --env',
      'unregister ',
      'run -- sallypor',
      'run -- cat ',
    ];
    const input = [
      out,
      ...asked.map((line) => `echo (complete -C 'sallyport ${line}' | string replace -r '\\t.*' '')`),
    ];
    const read = readBy('fish', ['--no-config'], input.join('\n'));
    expect([read.stdout.split('\n'), read.stderr]).toEqual([
      // A file is none of the choices, and a value is no command.
      [
        'explain test',
        'bubblewrap docker namespaces podman unshare',
        '--env',
        'sandboxes-1 sandboxes-2',
        'sallyport',
        'script',
        '',
      ],
      '',
    ]);
  });

  test('another shell is wrong usage', async () => {
    expect((await runWith(['completion', 'tcsh'])).code).toBe(2);
  });
});

describe('the names that are completed', () => {
  test('are those of the running gateway, and none where none runs', async () => {
    const gateway = await startFake();
    try {
      gateway.ports.listCredentials = () => [{ name: 'anthropic', source: 'memory', set: true }];
      expect((await runWith(['__complete', 'credentials'], { home: gateway.home })).out).toBe('anthropic\n');
    } finally {
      await gateway.stop();
    }
    expect(await runWith(['__complete', 'sandboxes'])).toEqual({ code: 0, out: '', err: '' });
  });
});
