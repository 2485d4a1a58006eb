import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

/** Clears the screen, and looks like a command when it is copied into a shell. */
const hostile = "\u001b[2J\u009b31m\r'; rm -rf precious; '\u202e.yaml";

let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

test('a name with escape sequences does not reach the terminal, and is quoted where it stands in a command', async () => {
  const config = ground.put(`user/project/${hostile}`);
  ground.put(`user/.local/state/sallyport/${hostile}`);
  const { code, out, err } = await ground.uninstall(['--yes'], { env: { SALLYPORT_CONFIG: config } });
  expect(code).toBe(0);
  const unsafe = [...(out + err)].filter((sign) => sign !== '\n' && /[\p{Cc}\u202e]/u.test(sign));
  expect(unsafe).toEqual([]);
  expect(out).toContain(String.raw`\x1b[2J`);
  // As one word of a shell: each quote of the name is closed, escaped and opened again.
  expect(out).toContain(String.raw`'\''; rm -rf precious; '\''`);
  const commands = out.split('\n').filter((line) => /^ {4}rm /.test(line));
  expect(commands.length).toBe(3);
  for (const line of commands) expect(line).not.toMatch(/[^']'; rm -rf/);
});

test('names in --json are the names themselves, as JSON writes them', async () => {
  const config = ground.put(`user/project/${hostile}`);
  const { out } = await ground.uninstall(['--dry-run', '--json'], { env: { SALLYPORT_CONFIG: config } });
  const { kept } = JSON.parse(out) as { kept: { what: string }[] };
  expect(kept.map(({ what }) => what)).toContain(config);
  expect(out).not.toContain('\u001b');
});
