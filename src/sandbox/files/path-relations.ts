// How two absolute paths relate, by their text alone. Both must be normal: no dots, no links, no slash at the end.
import { isAbsolute, normalize } from 'node:path';

/** `path` is `folder` or lies in it. */
export function liesIn(path: string, folder: string): boolean {
  return path === folder || folder === '/' || path.startsWith(`${folder}/`);
}

export function liesInAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => liesIn(path, folder));
}

/** `path`, which lies in `from`, as it is called when `from` is called `to`. */
export function moved(path: string, from: string, to: string): string {
  return path === from ? to : joined(to, path.slice(from === '/' ? 1 : from.length + 1));
}

export function joined(folder: string, below: string): string {
  return folder === '/' ? `/${below}` : `${folder}/${below}`;
}

export function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}

/** Every folder on the way from `folder` (not itself) to `path` (not itself), the outermost first. */
export function foldersBetween(folder: string, path: string): string[] {
  const names = path.slice(folder === '/' ? 1 : folder.length + 1).split('/');
  return names.slice(0, -1).map((_, i) => joined(folder, names.slice(0, i + 1).join('/')));
}

/** Absolute and normal; null for a relative path. */
export function normalPath(path: string): string | null {
  if (!isAbsolute(path)) return null;
  const normal = normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}
