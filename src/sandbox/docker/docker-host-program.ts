// What runs in a container before its command does: a program of the host, with its loader and libraries, each as one file.
// An image may have no program at all, so nothing of it is used; and never a folder of the host, only these files.
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { LaunchError } from '../run/sandbox-plan.ts';

export interface HostProgram {
  /** Its files and its command line when it is seen in `folder`. */
  at(folder: string): {
    readonly files: readonly { readonly source: string; readonly target: string }[];
    readonly command: readonly string[];
  };
}

const places = ['/bin', '/usr/bin', '/run/current-system/sw/bin'];

export async function findHostProgram(name: string): Promise<HostProgram> {
  const path = places.map((folder) => `${folder}/${name}`).find((each) => existsSync(each));
  if (path === undefined)
    throw new LaunchError(`there is no ${name} in ${places.join(', ')}`, 'install coreutils and a POSIX shell');
  let listed: string;
  try {
    listed = (await promisify(execFile)('ldd', [path], { env: { PATH: searchPath, LC_ALL: 'C' }, timeout: 10_000 }))
      .stdout;
  } catch (cause) {
    // glibc's ldd ends with 1 here.
    if (!/not a dynamic executable/.test(String((cause as { stderr?: unknown }).stderr)))
      throw new LaunchError(`ldd cannot say which libraries ${path} needs`, 'install ldd (libc-bin)', { cause });
    listed = '';
  }
  return hostProgram(path, listed, realpathSync);
}

const searchPath = '/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin';

/** From what ldd prints: `NAME => PATH (0x…)` is a library, `PATH (0x…)` or `PATH => PATH (0x…)` the loader. */
export function hostProgram(program: string, listed: string, resolve: (path: string) => string): HostProgram {
  const lines = listed.split('\n').flatMap((line) => {
    const found = /^\s*(?:(\S+) => )?(\/\S+) \(0x/.exec(line);
    return found === null ? [] : [{ name: found[1] ?? '/', path: found[2]! }];
  });
  if (/=> not found/.test(listed))
    throw new LaunchError(`${program} lacks a library on this machine`, `see: ldd ${program}`);
  const loader = lines.find(({ name }) => name.includes('/'));
  const libraries = lines.filter(({ name }) => !name.includes('/'));
  return {
    at(folder) {
      // Named after the link, not the file: busybox and its like choose by the name they are called by.
      const target = `${folder}/${basename(program)}`;
      const files = [{ source: resolve(program), target }];
      if (loader === undefined) return { files, command: [target] };
      const load = `${folder}/${basename(loader.path)}`;
      for (const { name, path } of libraries) files.push({ source: resolve(path), target: `${folder}/${name}` });
      if (!files.some((file) => file.target === load)) files.push({ source: resolve(loader.path), target: load });
      return { files, command: [load, '--library-path', folder, target] };
    },
  };
}
