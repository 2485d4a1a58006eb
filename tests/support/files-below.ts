// The files of a pretend host: those below a folder, as if it were the root. Links are followed within it.
import { dirname, resolve } from 'node:path';
import { type HostFiles, hostFiles } from '../../src/sandbox/files/host-files.ts';

export function filesBelow(root: string): HostFiles {
  const real = (path: string): string | null => {
    let at = '/';
    const rest = path.split('/').filter(Boolean);
    for (let steps = 0; rest.length > 0; steps++) {
      const next = resolve(at, rest.shift()!);
      const kind = hostFiles.look(root + next)?.kind;
      if (kind === undefined || steps > 40) return null;
      if (kind !== 'link') at = next;
      else {
        const to = resolve(dirname(next), hostFiles.readLink(root + next)!);
        rest.unshift(...to.split('/').filter(Boolean));
        at = '/';
      }
    }
    return at;
  };
  const below = (path: string) =>
    root + (real(dirname(path)) ?? dirname(path)).replace(/\/$/, '') + path.slice(path.lastIndexOf('/'));
  return {
    look: (path) => hostFiles.look(path === '/' ? root : below(path)),
    realPath: real,
    readLink: (path) => hostFiles.readLink(below(path)),
    list: (path) => hostFiles.list(root + (real(path) ?? path)),
    readText: (path, maxBytes) => hostFiles.readText(below(path), maxBytes),
    canRead: (path) => hostFiles.canRead(below(path)),
  };
}
