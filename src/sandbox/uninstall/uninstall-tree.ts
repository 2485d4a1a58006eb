// Removes trees that somebody else may still be changing: a sandbox has written in them. Every step goes through an open
// folder (/proc/self/fd/N is that very folder, whatever its name leads to by now), and a link is removed, never followed.
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { codeOf } from './uninstall-item.ts';

/** Not among Node's constants; the same on every Linux: a handle on the thing itself, without opening it. */
const O_PATH = 0o10000000;
/** One descriptor is held per level: a deeper tree is taken apart instead. */
const maxDepth = 64;
const maxTold = 5;

/** Names as bytes: a file's name need not be text. */
type Name = Buffer | string;

export class OpenFolder {
  readonly path: string;
  readonly #fd: number;

  /** Throws when the name leads to a link or to anything but a folder. */
  static open(path: string): OpenFolder {
    return new OpenFolder(path, openFolder(path));
  }

  private constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  stat(): Stats {
    return fstatSync(this.#fd);
  }

  names(): Buffer[] {
    return readdirSync(this.#at(''), { encoding: 'buffer' });
  }

  /** The entry itself; null: there is none. */
  look(name: Name): Stats | null {
    return lstatSync(this.#at(name), { throwIfNoEntry: false }) ?? null;
  }

  enter(name: Name): OpenFolder {
    return new OpenFolder(`${this.path}/${name}`, openFolder(this.#at(name)));
  }

  /** Throws, with the places that could not be removed, when something of it is left. */
  removeTree(name: Name): void {
    const failures: string[] = [];
    const pile: string[] = [];
    const device = this.stat().dev;
    this.#remove(name, { device, failures, top: this, pile }, 0);
    for (let aside = pile.pop(); aside !== undefined; aside = pile.pop())
      this.#remove(aside, { device, failures, top: this, pile }, 0);
    if (failures.length === 0) return;
    const more = failures.length > maxTold ? [`and ${failures.length - maxTold} more`] : [];
    throw new Error([...failures.slice(0, maxTold), ...more].join('; '));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #remove(name: Name, work: Work, depth: number): void {
    try {
      this.#removeOne(name, work, depth);
    } catch (error) {
      // What stayed in the folder was already reported, so a folder that is not empty needs no second message.
      if (codeOf(error) === 'ENOTEMPTY' && work.failures.length > 0) return;
      work.failures.push(`${this.path}/${name}: ${reasonOf(error)}`);
    }
  }

  #removeOne(name: Name, work: Work, depth: number): void {
    const found = this.look(name);
    if (found === null) return;
    if (!found.isDirectory()) {
      unlinkSync(this.#at(name));
      return;
    }
    if (found.dev !== work.device) throw new Error('another file system is mounted there: unmount it first');
    // Also before it is moved: a folder that its owner may not write to cannot be given another parent.
    this.#unlock(name, found);
    if (depth >= maxDepth) {
      this.#layAside(name, work);
      return;
    }
    const folder = this.enter(name);
    try {
      for (const entry of folder.names()) folder.#remove(entry, work, depth + 1);
    } finally {
      folder.close();
    }
    rmdirSync(this.#at(name));
  }

  /** Folders that nobody may write to (Go's module cache is made of them) keep what is in them. */
  #unlock(name: Name, found: Stats): void {
    if ((found.mode & 0o700) === 0o700) return;
    const handle = openSync(this.#at(name), O_PATH | constants.O_NOFOLLOW);
    try {
      if (fstatSync(handle).isDirectory()) chmodSync(`/proc/self/fd/${handle}`, 0o700);
    } catch {
      // Not ours to change: what follows says what could not be removed.
    } finally {
      closeSync(handle);
    }
  }

  #layAside(name: Name, { top, pile }: Work): void {
    const aside = `.sallyport-removal-${process.pid}-${performance.now()}`;
    renameSync(this.#at(name), top.#at(aside));
    pile.push(aside);
  }

  #at(name: Name): Buffer {
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.#fd}/`), Buffer.from(name)]);
  }
}

interface Work {
  readonly device: number;
  readonly failures: string[];
  /** Where what lies too deep is moved to, and its names there. */
  readonly top: OpenFolder;
  readonly pile: string[];
}

function openFolder(path: Name): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') return 'it belongs to another user, or is protected';
  if (code === 'EBUSY') return 'something is mounted there: unmount it first';
  if (code === 'ENOTEMPTY') return 'something was put into it meanwhile';
  return error instanceof Error ? error.message : String(error);
}
