// A repository that a real `sallyport run` works in, and git on the host afterwards: for tests of what a sandbox leaves behind.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { makeRunGround } from './run-ground.ts';

export interface TraceGround {
  readonly project: string;
  /** A program that leaves a trace where no sandbox can: it ran on the host. */
  readonly program: string;
  /** A script in a sandbox; what it printed, and what was said after the run. */
  inside(script: string, options?: readonly string[]): Promise<{ readonly output: string; readonly review: string }>;
  /** The same, while `meanwhile` is done on the host: the script waits for a file named `go`, after it made one named `begun`. */
  beside(script: string, meanwhile: () => void | Promise<void>): Promise<{ output: string; review: string }>;
  /** Git of the host, in the project; what it prints, whether it fails or not. */
  git(...args: string[]): string;
  read(path: string): string;
  /** Whether the program ran on the host since the last question. */
  ran(): boolean;
  remove(): void;
}

/** Said to each script, so that commits have an author however busy the machine is. */
const person =
  'export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=a@b.example';

export function makeTraceGround(): TraceGround {
  const ground = makeRunGround({ allow: [] });
  const project = ground.projectOf('root');
  // Seen by the host alone: a sandbox has a /tmp of its own.
  const outside = mkdtempSync(join(tmpdir(), 'sallyport-trace-'));
  const marker = join(outside, 'ran');
  const program = join(project, 'tool.sh');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: ground.homeOf('root'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
  };
  const git = (...args: string[]): string => {
    try {
      return execFileSync('git', args, { cwd: project, env, encoding: 'utf8', stdio: 'pipe', timeout: 20_000 });
    } catch (error) {
      return String((error as { stderr?: unknown }).stderr);
    }
  };
  writeFileSync(
    join(ground.homeOf('root'), '.gitconfig'),
    '[user]\n\tname = dev\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
  );
  git('init', '-q');
  writeFileSync(program, `#!/bin/sh\ntouch '${marker}'\ncat\n`, { mode: 0o755 });
  mkdirSync(join(project, 'src'));
  writeFileSync(join(project, 'src/file'), 'text\n');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
  return {
    project,
    program,
    async inside(script, options = []) {
      const run = await ground.sallyport('root', [
        'run',
        ...options,
        '--',
        'sh',
        '-c',
        `exec 2>&1\n${person}\n${script}`,
      ]);
      return { output: run.stdout, review: run.stderr };
    },
    async beside(script, meanwhile) {
      const wait = 'touch begun; for i in $(seq 400); do [ -e go ] && break; sleep 0.05; done';
      const args = ['run', '--', 'sh', '-c', `exec 2>&1\n${person}\n${wait}\n${script}`];
      const running = ground.sallyport('root', args);
      await eventually(() => existsSync(join(project, 'begun')), 'the sandbox to begin', 20_000);
      await meanwhile();
      writeFileSync(join(project, 'go'), '');
      const run = await running;
      for (const name of ['begun', 'go']) rmSync(join(project, name), { force: true });
      return { output: run.stdout, review: run.stderr };
    },
    git,
    read: (path) => readFileSync(join(project, path), 'utf8'),
    ran() {
      const did = existsSync(marker);
      rmSync(marker, { force: true });
      return did;
    },
    remove() {
      ground.remove();
      rmSync(outside, { recursive: true, force: true });
    },
  };
}
