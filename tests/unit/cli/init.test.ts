import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createContext } from '../../../src/cli/cli-context.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { openQuestions } from '../../../src/cli/terminal/ask-person.ts';
import { defaultPresets } from '../../../src/policy/load/load-policy.ts';
import { noteRunningWriter } from '../../../src/sandbox/traps/running-writers.ts';
import { isDoubtful, noteWrittenFolders } from '../../../src/sandbox/traps/written-folders.ts';
import { type RunOptions, runWith } from './command-line.ts';

let folder: string;
let project: string;
let home: string;
let state: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-init-'));
  [project, home, state] = ['project', 'home', 'state'].map((name) => join(folder, name)) as [string, string, string];
  for (const made of [join(project, '.git'), join(home, 'bin'), state]) mkdirSync(made, { recursive: true });
  writeFileSync(join(project, '.git', 'config'), '[remote "origin"]\n\turl = git@github.com:Acme/widgets.git\n');
  writeFileSync(join(home, 'bin', 'claude'), '#!/bin/sh\nexit 1\n');
  chmodSync(join(home, 'bin', 'claude'), 0o755);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (argv: readonly string[], { env, ...options }: RunOptions = {}) =>
  runWith(['init', ...argv], {
    home: state,
    cwd: project,
    env: { HOME: home, PATH: join(home, 'bin'), ...env },
    ...options,
  });
const written = (): string => readFileSync(join(project, 'sallyport.yaml'), 'utf8');

describe('sallyport init', () => {
  test('finds what is here, writes a configuration that is valid, and ends with the command to run', async () => {
    const { code, out, err } = await run(['--yes']);
    expect(code).toBe(0);
    expect(err).toMatch(/agents +claude\n/);
    expect(err).toContain('origin: github.com/acme/widgets');
    expect(out.trimEnd().split('\n').at(-1)).toBe('  sallyport run --repo acme/widgets -- claude');
    expect(written()).toContain('- preset: anthropic # claude');
    expect(written()).toContain('- preset: github # a remote of this repository');
    for (const preset of defaultPresets) expect(written()).toContain(`\n  - preset: ${preset} `);
    expect(err).toContain('github.com: allowed, with the preset github.\n');
    expect(err).toContain('`run --repo acme/widgets` gives a sandbox this repository');
    expect(statSync(join(project, 'sallyport.yaml')).mode & 0o777).toBe(0o644);
    const check = await runWith(['config', 'check', join(project, 'sallyport.yaml')]);
    expect([check.code, check.err]).toEqual([0, '']);
  });

  test('works in an empty folder without a repository, an agent or a home', async () => {
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    const { code, out } = await run(['--yes'], { cwd: empty, env: { HOME: join(folder, 'none'), PATH: '' } });
    expect(code).toBe(0);
    expect(out).toContain('sallyport run -- bash');
  });

  test('leaves a file that is there as it is; --force replaces it and keeps the old one', async () => {
    writeFileSync(join(project, 'sallyport.yaml'), 'mine\n');
    const refused = await run(['--yes']);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('--force');
    expect(written()).toBe('mine\n');
    expect((await run(['--yes', '--force'])).code).toBe(0);
    expect(written()).toContain('version: 1');
    expect(readFileSync(join(project, 'sallyport.yaml.backup'), 'utf8')).toBe('mine\n');
  });

  test('--force again keeps the first backup too, each as closed as the file was, and none of what it would write itself', async () => {
    const file = join(project, 'sallyport.yaml');
    writeFileSync(file, 'mine\n', { mode: 0o600 });
    await run(['--yes', '--force']);
    writeFileSync(file, 'mine, later\n');
    await run(['--yes', '--force']);
    await run(['--yes', '--force']);
    expect(readFileSync(`${file}.backup`, 'utf8')).toBe('mine\n');
    expect(statSync(`${file}.backup`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${file}.backup-2`, 'utf8')).toBe('mine, later\n');
    expect(existsSync(`${file}.backup-3`)).toBe(false);
  });

  test('leaves a link that leads nowhere as it is, with and without --force', async () => {
    symlinkSync(join(folder, 'not-mounted', 'mine.yaml'), join(project, 'sallyport.yaml'));
    expect((await run(['--yes'])).code).toBe(2);
    expect((await run(['--yes', '--force'])).code).toBe(2);
    expect(readlinkSync(join(project, 'sallyport.yaml'))).toBe(join(folder, 'not-mounted', 'mine.yaml'));
  });

  test('leaves a file as it is that somebody made while the questions were answered', async () => {
    writeFileSync(join(project, '.git', 'config'), '');
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stderr = {
      isTTY: true,
      write(text: string) {
        if (!text.startsWith('Found:')) return;
        writeFileSync(join(project, 'sallyport.yaml'), 'mine\n');
        stdin.end('n\n');
      },
    };
    const env = { SALLYPORT_HOME: state, HOME: home, PATH: join(home, 'bin') };
    const context = createContext({ env, cwd: project, stdin, stdout: { write() {} }, stderr });
    expect(await runCommandLine(['init'], context)).toBe(2);
    expect(written()).toBe('mine\n');
  });

  test('where it cannot write it says which file and what to do instead', async () => {
    const { code, err } = await run(['--yes', '--config', '/proc/sallyport.yaml']);
    expect(code).toBe(1);
    expect(err).toContain('/proc/sallyport.yaml cannot be written (E');
    expect(err).toContain('--print');
    expect(err).not.toContain('.tmp');
  });

  test('--print writes to standard output alone, also where a file is', async () => {
    writeFileSync(join(project, 'sallyport.yaml'), 'mine\n');
    const { code, out, err } = await run(['--print', '--schema', './s.json']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^# yaml-language-server: \$schema=\.\/s\.json\n/);
    expect(written()).toBe('mine\n');
  });

  test('--config says where, and --json what was found', async () => {
    const file = join(folder, 'new', 'other.yaml');
    const { out } = await run(['--yes', '--json', '--config', file]);
    const command = `sallyport run --config ${file} --repo acme/widgets -- claude`;
    expect(JSON.parse(out)).toMatchObject({ file, command });
    expect(existsSync(file)).toBe(true);
    const looked = JSON.parse((await run(['--json'])).out);
    expect(looked).toMatchObject({ file: null, found: { agents: [{ program: 'claude' }] } });
    expect(existsSync(join(project, 'sallyport.yaml'))).toBe(false);
  });

  test('the command names what was written, unless it is followed without', async () => {
    const usual = join(home, '.config', 'sallyport', 'sallyport.yaml');
    const last = async (argv: string[], env = {}) =>
      (await run(['--yes', ...argv], { env })).out.trimEnd().split('\n').at(-1)?.trim();
    expect(await last(['--config', usual])).toBe('sallyport run --repo acme/widgets -- claude');
    expect(await last([], { SALLYPORT_CONFIG: usual })).toBe(
      `sallyport run --config ${join(project, 'sallyport.yaml')} --repo acme/widgets -- claude`,
    );
    expect(await last(['--config', 'of $(me).yaml'])).toContain(` --config '${join(project, 'of $(me).yaml')}' `);
  });

  test('what it wrote is the word of its user, also where a sandbox could write before', async () => {
    noteWrittenFolders(state, [project], []);
    await run(['--yes']);
    expect(isDoubtful(state, join(project, 'sallyport.yaml'))).toBe(false);
  });

  test('what it wrote beside a sandbox that runs is nobody’s word: that sandbox can change it', async () => {
    noteWrittenFolders(state, [project], []);
    const writer = noteRunningWriter(state, { sandbox: 'sbx_a', folders: [project], seesAll: false });
    const { code, out } = await run(['--yes']);
    expect(code).toBe(0);
    expect(out).not.toContain('A sandbox cannot change it');
    expect(out).toContain('sandbox sbx_a can write');
    writeFileSync(join(project, 'sallyport.yaml'), 'version: 1\nallow: [{ host: evil.example }]\n');
    writer.end();
    expect(isDoubtful(state, join(project, 'sallyport.yaml'))).toBe(true);
  });
});

describe('questions to a person', () => {
  const ask = (typed: string) => {
    const stdin = new PassThrough();
    let said = '';
    const questions = openQuestions(stdin, (text) => {
      said += text;
    });
    stdin.end(typed);
    return { questions, said: () => said };
  };

  test('Enter takes what stands in brackets, and lines typed ahead are answers to what follows', async () => {
    const { questions, said } = ask('\n\nno\n');
    expect(await questions.ask('Which?', 'claude')).toBe('claude');
    expect(await questions.askYesOrNo('Sure?', true)).toBe(true);
    expect(await questions.askYesOrNo('Really?', true)).toBe(false);
    expect(said()).toBe('Which? [claude] Sure? [Y/n] Really? [Y/n] ');
    questions.close();
  });

  test('asks again for what is neither, and the end of the input is no answer', async () => {
    const { questions } = ask('maybe\ny\n');
    expect(await questions.askYesOrNo('Sure?', false)).toBe(true);
    await expect(questions.ask('Which?', 'claude')).rejects.toThrow('nobody answered');
    questions.close();
  });
});
