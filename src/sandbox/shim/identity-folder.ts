// The folder an identity is read from and written back to: certificate.pem, key.pem, ca.pem. A key that another user
// can read, or a CA that another user can exchange, is refused and not repaired: it may have been used already.
import { constants, lstatSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { syncDirectory, writeFileAtomically } from '../../kit/files/atomic-file.ts';
import { type Identity, KeyOfAnother, readIdentity } from './identity.ts';
import { ShimRefused } from './shim-refused.ts';

/** Real ones have under two kilobytes. */
const maxFileBytes = 64 * 1024;

export class IdentityFolder {
  readonly path: string;
  readonly #uid: number;

  constructor(path: string, uid: number) {
    this.path = resolve(path);
    this.#uid = uid;
  }

  async load(): Promise<Identity> {
    this.#checkFolder();
    const [certificate, ca, key] = await Promise.all([
      this.#read('certificate.pem', 'public'),
      this.#read('ca.pem', 'public'),
      this.#read('key.pem', 'private'),
    ]);
    try {
      return readIdentity({ certificate, ca, key });
    } catch (error) {
      if (!(error instanceof KeyOfAnother)) throw error;
      return this.#finishWriting(certificate, ca, error);
    }
  }

  /**
   * Two files cannot be exchanged at once. The key goes first under another name, so that at every moment the certificate
   * that is in place has its key beside it.
   */
  async keep(identity: Identity): Promise<void> {
    await writeFileAtomically(join(this.path, 'key.next.pem'), identity.files.key, 0o600);
    await writeFileAtomically(join(this.path, 'certificate.pem'), identity.files.certificate, 0o600);
    await this.#takeNextKey();
  }

  async #finishWriting(certificate: string, ca: string, misfit: KeyOfAnother): Promise<Identity> {
    const key = await this.#read('key.next.pem', 'private').catch(() => {
      throw misfit;
    });
    const identity = readIdentity({ certificate, ca, key });
    await this.#takeNextKey();
    return identity;
  }

  async #takeNextKey(): Promise<void> {
    await rename(join(this.path, 'key.next.pem'), join(this.path, 'key.pem'));
    await syncDirectory(this.path);
  }

  /**
   * The folders above are not judged: who can exchange this one still cannot make a file that belongs to the shim's user,
   * and nothing else is read.
   */
  #checkFolder(): void {
    const stats = lstatSync(this.path, { throwIfNoEntry: false });
    if (stats === undefined) {
      throw new ShimRefused(`the identity folder ${this.path} does not exist`, 'Name it with --identity.');
    }
    if (!stats.isDirectory()) {
      throw new ShimRefused(
        `${this.path} is not a folder`,
        'Name the folder itself with --identity, not a link to it.',
      );
    }
    if ((stats.uid !== this.#uid && stats.uid !== 0) || (stats.mode & 0o022) !== 0) {
      throw new ShimRefused(
        `other users can write to the identity folder ${this.path}`,
        `It must belong to uid ${this.#uid} alone: chown ${this.#uid} ${this.path} && chmod 700 ${this.path}`,
      );
    }
  }

  async #read(name: string, kind: 'public' | 'private'): Promise<string> {
    const path = join(this.path, name);
    const file = await openPlainly(path);
    try {
      // Judged by what was opened: the name may be given to another file meanwhile.
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > maxFileBytes) {
        throw new ShimRefused(`${path} is not a file of an identity`, 'Put the file there that registering gave you.');
      }
      this.#checkOwner(path, kind, stats);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  #checkOwner(path: string, kind: 'public' | 'private', stats: { readonly uid: number; readonly mode: number }): void {
    const ours = stats.uid === this.#uid;
    if (kind === 'private' && (!ours || (stats.mode & 0o077) !== 0)) {
      throw new ShimRefused(
        ours ? `${path} is open to other users` : `${path} belongs to uid ${stats.uid} and not to uid ${this.#uid}`,
        `Somebody else may have read this key. Register again, and keep the new one with: chown ${this.#uid} ${path} && chmod 600 ${path}`,
      );
    }
    if (kind === 'public' && ((!ours && stats.uid !== 0) || (stats.mode & 0o022) !== 0)) {
      throw new ShimRefused(
        `other users can write to ${path}`,
        `It must belong to uid ${this.#uid}: chown ${this.#uid} ${path} && chmod go-w ${path}`,
      );
    }
  }
}

async function openPlainly(path: string): Promise<FileHandle> {
  try {
    // Non-blocking: a pipe under this name would hold the shim for ever.
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    const why = code === 'ELOOP' ? 'is a symbolic link' : `cannot be read (${code})`;
    throw new ShimRefused(`${path} ${why}`, 'Put the file itself there, readable by the uid of the shim.');
  }
}
