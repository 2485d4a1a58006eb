// `sallyport init` looks at every place where people keep keys. What it says and writes may name those places; a value must be
// in none of it, and in no file that it leaves behind.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { knownCredentials } from '../../../src/policy/init/known-credentials.ts';
import { type Ran, runWith } from '../../unit/cli/command-line.ts';

const mark = 'VALUEofAKEY';
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-init-'));
  const files: Record<string, string> = {
    'home/.claude.json': JSON.stringify({ primaryApiKey: mark }),
    'home/.claude/.credentials.json': JSON.stringify({ claudeAiOauth: { accessToken: mark, refreshToken: mark } }),
    'home/.codex/auth.json': JSON.stringify({ OPENAI_API_KEY: mark, tokens: { access_token: mark } }),
    'home/.gemini/.env': `GEMINI_API_KEY=${mark}\n`,
    'home/.gemini/oauth_creds.json': JSON.stringify({ refresh_token: mark }),
    'home/.local/share/opencode/auth.json': JSON.stringify({ xai: { type: 'oauth', access: mark } }),
    'home/.config/gh/hosts.yml': `github.com:\n    oauth_token: ${mark}\n`,
    'home/.aws/credentials': `[default]\naws_access_key_id = ${mark}\naws_secret_access_key = ${mark}\n`,
    'project/.git/config': `[remote "origin"]\n\turl = https://ann:${mark}@git.example.com/acme/widgets.git\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const init = (...argv: string[]): Promise<Ran> => {
  const variables = knownCredentials.flatMap(({ variables }) => variables).filter((_, at) => at % 2 === 0);
  const env = { ...Object.fromEntries(variables.map((name) => [name, mark])), HOME: join(folder, 'home'), PATH: '' };
  return runWith(['init', ...argv], { home: join(folder, 'state'), cwd: join(folder, 'project'), env });
};

test('no value is printed or written, whichever way it is asked', async () => {
  for (const argv of [['--print'], ['--json'], ['--yes'], ['--yes', '--force', '--schema', 's']]) {
    const { code, out, err } = await init(...argv);
    expect(code).toBe(0);
    // It has found them: or there would be nothing to leak.
    if (argv[0] !== '--yes' || argv.length === 1) expect(`${out}${err}`).toContain('ANTHROPIC_API_KEY');
    expect(`${out}${err}`).not.toContain(mark);
  }
  const left = readdirSync(join(folder, 'project')).filter((name) => name !== '.git');
  expect(left.sort()).toEqual(['sallyport.yaml', 'sallyport.yaml.backup']);
  for (const name of left) expect(readFileSync(join(folder, 'project', name), 'utf8')).not.toContain(mark);
});
