import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createContext } from '../../../src/cli/cli-context.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { concludeSession, type LearnOptions, type LearnPort } from '../../../src/cli/steps/learn-session.ts';
import { LearnedSessions } from '../../../src/policy/learn/learned-sessions.ts';
import { noteWrittenFolders } from '../../../src/sandbox/traps/written-folders.ts';
import { runWith } from './command-line.ts';

let folder: string;
let home: string;
let config: string;
const policy = 'version: 1\nallow:\n  - host: known.example\n';
const line = '- { host: new.example, methods: [GET, HEAD] }';
const read = { host: 'new.example', kind: 'http', verdict: 'allowed', rule: 'learning', path: '/\u001b[2J' };
const post = { ...read, verdict: 'refused', method: 'POST', scheme: 'https', port: 443, code: 'method.not-allowed' };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-cli-learn-'));
  home = join(folder, 'state');
  config = join(folder, 'sallyport.yaml');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(config, policy);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function conclude(
  records: readonly object[],
  options: Partial<LearnOptions> & {
    readonly typed?: string;
    readonly ahead?: string;
    readonly port?: Partial<LearnPort>;
  } = {},
): Promise<string> {
  let said = '';
  const stdin = Object.assign(new PassThrough(), { isTTY: options.typed !== undefined });
  if (options.ahead !== undefined) stdin.write(options.ahead);
  const stderr = {
    write: (text: string) => {
      said += text;
      if (text.includes('[y/N]')) stdin.end(options.typed);
    },
    isTTY: true,
  };
  const env = { SALLYPORT_HOME: home, NO_COLOR: '1' };
  const context = createContext({ env, cwd: folder, stdin, stdout: { write: () => {} }, stderr });
  const port: LearnPort = {
    start: async () => {},
    config: async () => config,
    async *records() {
      yield* records as Record<string, unknown>[];
    },
    ...options.port,
  };
  await concludeSession(context, port, 'sbx_1', { apply: false, quiet: false, ...options });
  return said;
}

describe('the end of a session that learned', () => {
  test('a person who says yes gets the lines, and one who does not keeps them for later', async () => {
    expect(await conclude([read], { typed: 'y\n' })).toContain(
      'Add this line to ./sallyport.yaml? [y/N]\nAdded 1 line',
    );
    expect(readFileSync(config, 'utf8')).toContain(`${policy}  ${line}`);
    expect(new LearnedSessions(home).list()).toEqual([]);

    writeFileSync(config, policy);
    for (const typed of ['\n', 'n\n', '']) {
      expect(await conclude([read], { typed })).toContain('Kept. Add them later with: sallyport learn apply sbx_1');
    }
    expect(readFileSync(config, 'utf8')).toBe(policy);
    expect(new LearnedSessions(home).list()).toHaveLength(1);
  });

  test('what was typed before the question is no answer to it', async () => {
    expect(await conclude([read], { ahead: 'y\ny\n', typed: '\n' })).toContain('Kept.');
    expect(readFileSync(config, 'utf8')).toBe(policy);
  });

  test('nobody is asked without a terminal, nor when it is said before', async () => {
    expect(await conclude([read])).not.toContain('[y/N]');
    expect(readFileSync(config, 'utf8')).toBe(policy);
    expect(await conclude([read], { apply: true })).toContain('Added 1 line to ./sallyport.yaml.');
    expect(readFileSync(config, 'utf8')).toContain(line);
  });

  test('quiet is quiet', async () => {
    expect(await conclude([read, post], { apply: true, quiet: true })).toBe('');
    expect(readFileSync(config, 'utf8')).toContain(line);
  });

  test('what stays refused is listed as text, and nothing is kept when there is nothing to propose', async () => {
    const said = await conclude([post, post]);
    expect(said).toContain('nothing to propose');
    expect(said).toContain('POST https://new.example/\\x1b[2J  2 times');
    expect(new LearnedSessions(home).list()).toEqual([]);
    expect(await conclude([])).toContain('the policy had everything this session needed');
  });

  test('what goes wrong is said, and ends nothing', async () => {
    const gone: LearnPort['config'] = async () => {
      throw new Error('the gateway is gone');
    };
    expect(await conclude([read], { port: { config: gone } })).toContain('nothing was written: the gateway is gone');
    writeFileSync(config, 'version: 1\nallow: &x\n  - host: a.example\ngit: {hosts: [a.example]}\nlimits: *x\n');
    expect(await conclude([read])).toContain('cannot be read from here');
  });

  test('a configuration that may be a sandbox’s work is written to only when it is named', async () => {
    noteWrittenFolders(home, [folder], []);
    expect(await conclude([read], { apply: true })).toContain('the sandbox may have written it');
    expect(readFileSync(config, 'utf8')).toBe(policy);
    const refused = await runWith(['learn', 'apply', 'sbx_1'], { home, cwd: folder });
    expect([refused.code, readFileSync(config, 'utf8')]).toEqual([2, policy]);
    const named = await runWith(['learn', 'apply', 'sbx_1', '--config', 'sallyport.yaml'], { home, cwd: folder });
    expect([named.code, named.err]).toEqual([0, '']);
    expect(readFileSync(config, 'utf8')).toContain(line);
  });
});

describe('sallyport learn', () => {
  test('lists, shows and forgets, as words and as JSON', async () => {
    await conclude([read]);
    expect((await runWith(['learn'], { home })).out).toMatch(/SANDBOX .*\nsbx_1 .* 1 +0 /);
    const listed = JSON.parse((await runWith(['learn', '--json'], { home })).out) as { sessions: object[] };
    expect(listed.sessions).toMatchObject([{ sandbox: 'sbx_1', config }]);
    expect((await runWith(['learn', 'show', 'sbx_1'], { home, cwd: folder })).out).toContain(`+   ${line}`);
    expect((await runWith(['learn', 'forget', 'sbx_1'], { home })).code).toBe(0);
    expect((await runWith(['learn'], { home })).out).toContain('No session has proposed anything');
    const unknown = await runWith(['learn', 'show', '../x'], { home });
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('See which have: sallyport learn')]);
  });

  test('apply shows the lines before it writes them', async () => {
    await conclude([read]);
    const then: string[] = [];
    const stdout = { write: (text: string) => void then.push(`${text}${readFileSync(config, 'utf8')}`) };
    const env = { SALLYPORT_HOME: home, NO_COLOR: '1' };
    const context = createContext({ env, cwd: folder, stdin: new PassThrough(), stdout, stderr: stdout });
    expect(await runCommandLine(['learn', 'apply', 'sbx_1'], context)).toBe(0);
    expect(then[0]).toContain(`+   ${line}`);
    expect(then[0]?.endsWith(policy)).toBe(true);
    expect(then.at(-1)).toContain(`Added 1 line to ./sallyport.yaml.\n${policy}  ${line}`);
  });

  test('a wildcard that has become too wide is left out, said, and not forgotten', async () => {
    await conclude(['cdn', 'docs', 'img'].map((name) => ({ ...read, host: `${name}.big.example` })));
    writeFileSync(config, `${policy}  - { host: api.big.example, methods: [POST] }\n`);
    const before = readFileSync(config, 'utf8');
    const { out, code } = await runWith(['learn', 'apply', 'sbx_1'], { home, cwd: folder });
    expect([code, readFileSync(config, 'utf8')]).toEqual([0, before]);
    expect(out).toContain(
      '*.big.example is left out: it would reach a host that ./sallyport.yaml has a rule for by now',
    );
    expect(out).not.toContain('has everything');
    expect((await runWith(['learn'], { home })).out).toContain('sbx_1');
  });

  test.each([['learn'], ['learn', 'show'], ['learn', 'apply'], ['learn', 'forget']])(
    '%s %s explains itself',
    async (...words) => {
      const { out } = await runWith([...words.filter((word) => word !== undefined), '--help']);
      expect(out).toContain('Examples:');
    },
  );
});
