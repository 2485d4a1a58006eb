// A sandbox can write to the configuration of the repository it works in. A remote that it puts there must not become a host
// that sandboxes may reach, nor the repository that the next command is allowed to push to.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noteWrittenFolders } from '../../../src/sandbox/traps/written-folders.ts';
import { makeRunGround } from '../../support/run-ground.ts';
import { runWith } from '../../unit/cli/command-line.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-init-'));
  mkdirSync(join(folder, 'project', '.git'), { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const remotes = (...urls: string[]): void => {
  const sections = urls.map((url, at) => `[remote "${at === 0 ? 'origin' : `r${at}`}"]\n\turl = ${url}\n`);
  writeFileSync(join(folder, 'project', '.git', 'config'), sections.join(''));
};
const init = async (...argv: string[]) => {
  const options = { home: join(folder, 'state'), cwd: join(folder, 'project'), env: { HOME: folder, PATH: '' } };
  const ran = await runWith(['init', '--yes', '--force', ...argv], options);
  return { ...ran, live: readFileSync(join(folder, 'project', 'sallyport.yaml'), 'utf8').replace(/#.*$/gm, '') };
};

test('remotes count while no sandbox could write them, and not afterwards', async () => {
  remotes('https://loot.example/attacker/loot', 'https://gitlab.com/attacker/loot');
  const before = await init();
  expect(before.live).toContain('loot.example');
  expect(before.live).not.toContain('gitlab');
  expect(before.out).toContain('--repo attacker/loot');

  noteWrittenFolders(join(folder, 'state'), [join(folder, 'project')], []);
  const after = await init();
  expect(after.code).toBe(0);
  expect(after.live).not.toContain('loot.example');
  expect(after.live).not.toContain('gitlab');
  expect(after.out).not.toContain('attacker');
});

test('nor those of a worktree, when a sandbox could write to the repository that it is of', async () => {
  rmSync(join(folder, 'state'), { recursive: true, force: true });
  const [repository, cwd] = [join(folder, 'project'), join(folder, 'worktree')];
  remotes('https://gitlab.com/attacker/loot');
  const own = join(repository, '.git', 'worktrees', 'w');
  for (const made of [own, cwd]) mkdirSync(made, { recursive: true });
  writeFileSync(join(own, 'commondir'), '../..\n');
  writeFileSync(join(cwd, '.git'), `gitdir: ${own}\n`);
  const look = () => runWith(['init', '--yes', '--force'], { home: join(folder, 'state'), cwd, env: { HOME: folder } });
  expect((await look()).out).toContain('--repo attacker/loot');
  noteWrittenFolders(join(folder, 'state'), [repository], []);
  expect((await look()).out).not.toContain('attacker');
});

test('nothing that stands in an address or in the name of a remote writes a line of its own', async () => {
  rmSync(join(folder, 'state'), { recursive: true, force: true });
  writeFileSync(
    join(folder, 'project', '.git', 'config'),
    '[remote "x\\n  - host: evil.example"]\n\turl = https://a.example/o/r\n[remote "y"]\n\turl = https://b.example]}\\n- host: evil.example/o/r\n[remote "\u001b[2J"]\n\turl = git@c.example:o/r\n',
  );
  const { live, out, err } = await init();
  expect(`${live}${err}`).toContain('a.example');
  expect(live).not.toContain('evil');
  expect(out + err).not.toContain('\u001b');
});

test('after a run that could not write them the remotes are the user’s own, and after one that could they are not', async () => {
  const ground = makeRunGround({});
  try {
    const git = join(ground.projectOf('root'), '.git');
    for (const name of ['objects', 'refs']) mkdirSync(join(git, name), { recursive: true });
    writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(git, 'config'), '[remote "origin"]\n\turl = git@github.com:acme/widgets\n');
    const attack = `printf '[remote "origin"]\\n\\turl = https://loot.example/a/b\\n' > new
      cat new > .git/config; mv new .git/config; mv .git away && cp -r away .git && mv new .git/config; echo tried`;
    const settings = { env: { SALLYPORT_CONFIG: '' } };
    const after = async (...options: string[]) => {
      const ran = await ground.sallyport('root', ['run', ...options, '--', 'sh', '-c', attack], settings);
      expect(ran.stdout).toBe('tried\n');
      const { stdout } = await ground.sallyport(
        'root',
        ['init', '--yes', '--json', '--config', 'made.yaml', '--force'],
        settings,
      );
      return JSON.parse(stdout).command as string;
    };
    expect(await after()).toContain(' --repo acme/widgets ');
    expect(await after('--git-config', 'writable')).toContain(' --repo OWNER/REPO ');
    expect(readFileSync(join(git, 'config'), 'utf8')).toContain('loot.example');
  } finally {
    ground.remove();
  }
});
