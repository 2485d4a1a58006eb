import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sandboxGitEnvironment, sandboxGitFiles } from '../../../src/sandbox/stubs/sandbox-gitconfig.ts';
import { GitFolder } from '../../support/git-folder.ts';

let ground: string;
let repository: string;
/** A program that leaves a trace. What calls it may give it any arguments. */
let program: string;

beforeEach(() => {
  ground = mkdtempSync(join(tmpdir(), 'tame-git-'));
  repository = join(ground, 'repository');
  program = script('program', `touch '${ground}/ran'`);
  mkdirSync(repository);
  plainGit('init', '--quiet', '.');
  writeFileSync(join(repository, 'file'), 'text\n');
  plainGit('add', '.');
  plainGit('commit', '--quiet', '-m', 'one');
  const directory = join(ground, 'etc');
  for (const { name, mode, text } of sandboxGitFiles({ directory, hosts: ['github.com'], lfs: true })) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text, { mode });
  }
});

afterEach(() => rmSync(ground, { recursive: true, force: true }));

function script(name: string, body: string): string {
  const path = join(ground, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const person = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};
const untamed = { GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
const tamed = (): Record<string, string> => sandboxGitEnvironment({ directory: join(ground, 'etc') });

function plainGit(...args: string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: ground, ...untamed, ...person };
  return execFileSync('git', args, { cwd: repository, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

interface Attempt {
  readonly what: string;
  /** Written into the repository's own configuration. */
  readonly config?: () => Record<string, string>;
  readonly plant?: () => void;
  readonly command: () => readonly string[];
  readonly input?: string;
  /** Below the repository. */
  readonly cwd?: string;
}

async function ran(attempt: Attempt, env: Record<string, string>): Promise<boolean> {
  rmSync(join(ground, 'ran'), { force: true });
  const folder = new GitFolder(join(repository, attempt.cwd ?? '.'), { HOME: ground, ...person, ...env });
  await folder.run(attempt.command(), attempt.input);
  return existsSync(join(ground, 'ran'));
}

function set(attempt: Attempt): void {
  attempt.plant?.();
  for (const [key, value] of Object.entries(attempt.config?.() ?? {})) plainGit('config', key, value);
}

function plantHook(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'post-checkout'), `#!/bin/sh\nexec '${program}'\n`, { mode: 0o755 });
}

/** Files that git takes for a repository of its own when it is run among them. A clone brings them along. */
function plantNestedRepository(): void {
  const nested = join(repository, 'vendor');
  plainGit('init', '--quiet', '--bare', nested);
  copyFileSync(join(repository, '.git/index'), join(nested, 'index'));
  for (const [key, value] of [
    ['bare', 'false'],
    ['worktree', '.'],
    ['fsmonitor', program],
  ] as const)
    plainGit('config', '--file', join(nested, 'config'), `core.${key}`, value);
}

const askForLogin = { command: () => ['credential', 'fill'], input: 'protocol=https\nhost=git.example.com\n\n' };
const sign = { command: () => ['commit', '-S', '--allow-empty', '-m', 'two'] };

const attempts: readonly Attempt[] = [
  {
    what: 'a hook',
    plant: () => plantHook(join(repository, '.git/hooks')),
    command: () => ['checkout', '--quiet', '-f'],
  },
  {
    what: 'a hook in a folder of the repository’s choice',
    plant: () => plantHook(join(repository, 'hooks')),
    config: () => ({ 'core.hooksPath': join(repository, 'hooks') }),
    command: () => ['checkout', '--quiet', '-f'],
  },
  { what: 'core.fsmonitor', config: () => ({ 'core.fsmonitor': program }), command: () => ['status'] },
  {
    what: 'core.fsmonitor of a repository inside the files of another',
    plant: plantNestedRepository,
    command: () => ['status'],
    cwd: 'vendor',
  },
  { what: 'credential.helper', config: () => ({ 'credential.helper': `!${program}` }), ...askForLogin },
  {
    what: 'credential.helper for one URL',
    config: () => ({ 'credential.https://git.example.com.helper': `!${program}` }),
    ...askForLogin,
  },
  { what: 'core.askPass', config: () => ({ 'core.askPass': program }), ...askForLogin },
  {
    what: 'a remote of the ext transport',
    config: () => ({ 'protocol.ext.allow': 'always', 'remote.origin.url': `ext::${program}` }),
    command: () => ['ls-remote', 'origin'],
  },
  {
    what: 'a remote with a helper of its own',
    config: () => ({ 'protocol.ext.allow': 'always', 'remote.origin.url': program, 'remote.origin.vcs': 'ext' }),
    command: () => ['ls-remote', 'origin'],
  },
  {
    what: 'core.sshCommand, also when the user allows ssh',
    config: () => ({ 'core.sshCommand': program }),
    command: () => ['-c', 'protocol.ssh.allow=always', 'ls-remote', 'ssh://git.example.com/owner/name'],
  },
  {
    what: 'core.gitProxy, also when the user allows git://',
    config: () => ({ 'core.gitProxy': program }),
    command: () => ['-c', 'protocol.git.allow=always', 'ls-remote', 'git://127.0.0.1:1/owner/name'],
  },
  {
    what: 'core.alternateRefsCommand',
    plant: () => {
      plainGit('clone', '--quiet', '--bare', '.', join(ground, 'lender.git'));
      writeFileSync(join(repository, '.git/objects/info/alternates'), `${join(ground, 'lender.git/objects')}\n`);
    },
    config: () => ({ 'core.alternateRefsCommand': program, 'remote.origin.url': repository }),
    command: () => ['fetch', 'origin', 'HEAD'],
  },
  { what: 'gpg.program', config: () => ({ 'gpg.program': program }), ...sign },
  { what: 'gpg.x509.program', config: () => ({ 'gpg.format': 'x509', 'gpg.x509.program': program }), ...sign },
  {
    what: 'gpg.ssh.program',
    config: () => ({ 'gpg.format': 'ssh', 'gpg.ssh.program': program, 'user.signingKey': '/dev/null' }),
    ...sign,
  },
];

describe('a repository runs no program of its own in a sandbox', () => {
  test.each(attempts)('$what', async (attempt) => {
    set(attempt);
    expect(await ran(attempt, untamed), 'without the settings it must run, or this proves nothing').toBe(true);
    expect(await ran(attempt, tamed())).toBe(false);
  });

  test.each([
    ['ext', 'ext::true'],
    ['ftp', 'ftp://127.0.0.1:1/owner/name'],
    ['ftps', 'ftps://127.0.0.1:1/owner/name'],
    ['git', 'git://127.0.0.1:1/owner/name'],
    ['http', 'http://127.0.0.1:1/owner/name'],
    ['ssh', 'ssh://127.0.0.1:1/owner/name'],
  ])('the transport %s is refused although the repository’s configuration allows it', async (name, url) => {
    plainGit('config', `protocol.${name}.allow`, 'always');
    const asked = (env: Record<string, string>) =>
      new GitFolder(repository, { HOME: ground, ...env }).run(['ls-remote', url]);
    const refused = `transport '${name}' not allowed`;
    expect((await asked(untamed)).stderr).not.toContain(refused);
    expect((await asked(tamed())).stderr).toContain(refused);
  });

  test('the file alone would not do: the repository’s own configuration wins over it', async () => {
    const attempt = attempts.find(({ what }) => what === 'core.fsmonitor')!;
    set(attempt);
    expect(await ran(attempt, { GIT_CONFIG_SYSTEM: tamed().GIT_CONFIG_SYSTEM! })).toBe(true);
  });

  test('the side that serves a local remote does not see the environment: there the file stops a hook', async () => {
    plainGit('init', '--quiet', '--bare', join(ground, 'local.git'));
    writeFileSync(join(ground, 'local.git/hooks/pre-receive'), `#!/bin/sh\nexec '${program}'\n`, { mode: 0o755 });
    const push = (ref: string): Attempt => ({
      what: 'pre-receive',
      command: () => ['push', '--quiet', join(ground, 'local.git'), `HEAD:refs/heads/${ref}`],
    });
    const { GIT_CONFIG_SYSTEM: _file, ...environmentAlone } = tamed();
    expect(await ran(push('one'), { ...environmentAlone, ...untamed })).toBe(true);
    expect(await ran(push('two'), tamed())).toBe(false);
  });

  test('whoever runs git may still say otherwise for one command', async () => {
    const attempt = attempts.find(({ what }) => what === 'a hook')!;
    set(attempt);
    const command = () => ['-c', 'core.hooksPath=.git/hooks', ...attempt.command()];
    expect(await ran({ ...attempt, command }, tamed())).toBe(true);
  });

  test('git takes no pack-objects hook from a repository, with or without us', async () => {
    const attempt: Attempt = {
      what: 'uploadpack.packObjectsHook',
      config: () => ({ 'uploadpack.packObjectsHook': program }),
      command: () => ['clone', '--quiet', `file://${repository}`, join(ground, `clone-${Math.random()}`)],
    };
    set(attempt);
    expect(await ran(attempt, untamed)).toBe(false);
    expect(await ran(attempt, tamed())).toBe(false);
    // As a person's own setting it does run: the attempt is a real one.
    plainGit('config', '--global', 'uploadpack.packObjectsHook', program);
    expect(await ran(attempt, untamed)).toBe(true);
  });
});

describe('what git gives no switch for still runs, and docs/clients.md says so', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/clients.md', import.meta.url)), 'utf8');
  const told = /### What a repository can still run\n([\s\S]*?)(?=\n#|$)/.exec(page)?.[1] ?? '';
  const attributes = (text: string) => (): void => {
    writeFileSync(join(repository, '.gitattributes'), `file ${text}\n`);
    writeFileSync(join(repository, 'file'), 'other text\n');
  };
  const open: readonly (Attempt & { readonly key: string })[] = [
    {
      what: 'a filter driver',
      key: 'filter.*',
      plant: attributes('filter=x'),
      config: () => ({ 'filter.x.clean': program }),
      command: () => ['add', '--renormalize', 'file'],
    },
    {
      what: 'a textconv program',
      key: 'diff.*.textconv',
      plant: attributes('diff=x'),
      config: () => ({ 'diff.x.textconv': program }),
      command: () => ['diff'],
    },
    {
      what: 'an external diff',
      key: 'diff.external',
      plant: attributes('text'),
      config: () => ({ 'diff.external': program }),
      command: () => ['diff'],
    },
    { what: 'an alias', key: 'alias.*', config: () => ({ 'alias.x': `!${program}` }), command: () => ['x'] },
    {
      what: 'the upload-pack of a local remote',
      key: 'remote.*.uploadpack',
      config: () => ({ 'remote.origin.url': repository, 'remote.origin.uploadpack': program }),
      command: () => ['ls-remote', 'origin'],
    },
    {
      what: 'an editor',
      key: 'core.editor',
      config: () => ({ 'core.editor': program }),
      command: () => ['commit', '--allow-empty'],
    },
  ];

  test.each(open)('$what', async (attempt) => {
    set(attempt);
    expect(await ran(attempt, tamed())).toBe(true);
    expect(told).toContain(`\`${attempt.key}\``);
  });
});
