// The mounts of a plan while it is made: one for each target, in the end ordered from the outside in, so that nothing is
// covered by what was meant to lie around it. Knows nothing of why something is let in.

import { LaunchError, type Mount } from '../run/sandbox-plan.ts';
import type { HostFiles } from './host-files.ts';
import { depthOf, foldersBetween, liesIn, moved } from './path-relations.ts';

type Bind = Extract<Mount, { readonly source: string }>;

export class MountDraft {
  readonly #byTarget = new Map<string, Mount>();

  /** A later one takes the place of an earlier one at the same target. */
  add(...mounts: readonly Mount[]): void {
    for (const mount of mounts) this.#byTarget.set(mount.target, mount);
  }

  /** In place of whatever lies at the same target or inside it. */
  cover(mount: Mount): void {
    for (const target of this.#byTarget.keys()) if (liesIn(target, mount.target)) this.#byTarget.delete(target);
    this.add(mount);
  }

  /**
   * Fixes what a path of the host is, wherever the sandbox can write around it: nothing else can be put in its place by
   * renaming a folder on the way to it. What is not let in yet is let in at its own path.
   */
  pin(path: string, kind: 'read-only' | 'read-write' | 'masked-folder' = 'read-only'): void {
    const around = this.#binds().filter((bind) => liesIn(path, bind.source));
    if (around.length === 0) this.#put(kind, path, path);
    for (const bind of around) {
      if (bind.kind === 'read-only' || bind.source === path) continue;
      this.#fixFolders(bind, path);
      this.#put(kind, path, moved(path, bind.source, bind.target));
    }
  }

  /**
   * No folder on the way to a path of the host can be renamed by this sandbox: what is hidden there by its name would be in the
   * open for the next one. // Guards: threats.md T80
   */
  fixFolders(path: string): void {
    for (const bind of this.#binds())
      if (bind.kind === 'read-write' && liesIn(path, bind.source)) this.#fixFolders(bind, path);
  }

  /** Each is a mount by itself, which cannot be renamed. */
  #fixFolders(bind: Bind, path: string): void {
    for (const folder of foldersBetween(bind.source, path)) {
      const at = moved(folder, bind.source, bind.target);
      if (!this.#byTarget.has(at)) this.#put('read-write', folder, at);
    }
  }

  /** The sandbox sees this path of the host, under whatever name. */
  shows(path: string): boolean {
    return this.#binds().some((bind) => liesIn(path, bind.source));
  }

  ordered(): Mount[] {
    return [...this.#byTarget.values()].sort((a, b) => depthOf(a.target) - depthOf(b.target));
  }

  /**
   * A target in a folder that sandboxes write to (a home that persists, the working directory) is made there by the
   * launcher, outside: a link on the way would lead it somewhere else.
   */
  refuseLinks(files: HostFiles): void {
    const writable = this.#binds().filter((bind) => bind.kind === 'read-write');
    for (const { target } of this.#byTarget.values()) {
      for (const bind of writable) {
        if (target === bind.target || !liesIn(target, bind.target)) continue;
        const real = moved(target, bind.target, bind.source);
        const link = [...foldersBetween(bind.source, real), real].find((path) => files.look(path)?.kind === 'link');
        if (link !== undefined)
          throw new LaunchError(
            `${link} is a link, so nothing can be mounted there as ${target}`,
            'An earlier sandbox may have made it. Remove the link, or choose another target.',
          );
      }
    }
  }

  #put(kind: 'read-only' | 'read-write' | 'masked-folder', source: string, target: string): void {
    this.add(kind === 'masked-folder' ? { kind, target } : { kind, source, target });
  }

  #binds(): Bind[] {
    return [...this.#byTarget.values()].filter((mount): mount is Bind => 'source' in mount);
  }
}
