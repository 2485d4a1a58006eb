// A pretend user with a state directory, a configuration and precious things beside them, for the tests of `uninstall`. Its
// PATH begins with an `nft` and a `docker` of its own, so that nothing of this machine is ever asked or changed.
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Ran, type RunOptions, runWith } from '../unit/cli/command-line.ts';

export interface UninstallGround {
  readonly folder: string;
  /** The user's. */
  readonly userHome: string;
  /** `$SALLYPORT_HOME`. */
  readonly home: string;
  readonly config: string;
  /** Where programs of the test's own come first. */
  readonly programs: string;
  readonly env: Record<string, string>;
  /** A file below the ground, with the folders it needs. */
  put(path: string, text?: string): string;
  /** Everything below the ground, links with their targets. */
  tree(): string[];
  uninstall(args: readonly string[], options?: RunOptions): Promise<Ran>;
  remove(): void;
}

/** What a gateway, `run` and a sandbox with a kept home have left, in names. */
export const stateFiles = [
  'ca/ca.pem',
  'ca/ca.key',
  'identity-ca/ca.key',
  'registry.json',
  '.registry.json.0123456789ab.tmp',
  'journal/head',
  'journal/journal-000001.jsonl',
  'spool/.keep',
  'run/sandboxes/sbx.note',
  'run.log',
  'sandboxes/sbx.999999.1/home/file',
  'home/.bashrc',
  'runs/999999-1/journal/head',
  'runs/999999-1/ca/ca.key',
  'written/abc',
  'cache/trust/link',
];

export function makeUninstallGround(): UninstallGround {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-uninstall-'));
  chmodSync(folder, 0o755);
  const userHome = join(folder, 'user');
  const home = join(userHome, '.local', 'state', 'sallyport');
  const config = join(userHome, '.config', 'sallyport', 'sallyport.yaml');
  const programs = join(folder, 'programs');
  const put = (path: string, text = 'x\n'): string => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  for (const name of stateFiles) put(`user/.local/state/sallyport/${name}`);
  put('user/.config/sallyport/sallyport.yaml', 'version: 1\n');
  put('user/.config/other/settings', 'precious\n');
  put('user/.local/state/other/history', 'precious\n');
  put('user/project/sallyport.yaml', 'version: 1\n');
  put('precious/letter', 'precious\n');
  chmodSync(home, 0o700);
  for (const name of ['nft', 'docker']) {
    put(`programs/${name}`, '#!/bin/sh\nexit 0\n');
    chmodSync(join(programs, name), 0o755);
  }
  const env = { HOME: userHome, PATH: `${programs}:${process.env.PATH ?? ''}` };
  return {
    folder,
    userHome,
    home,
    config,
    programs,
    env,
    put,
    tree: () => listTree(folder),
    uninstall: (args, options = {}) =>
      runWith(['uninstall', ...args], {
        home,
        cwd: join(userHome, 'project'),
        ...options,
        env: { ...env, ...options.env },
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function listTree(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below))
    .sort()
    .flatMap((name) => {
      const path = join(below, name);
      const found = lstatSync(join(folder, path));
      if (found.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(folder, path))}`];
      return found.isDirectory() ? [`${path}/`, ...listTree(folder, path)] : [path];
    });
}
