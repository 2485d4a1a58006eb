// The identity that comes with the proof `mtls`, as the files that `sallyport shim` reads. The key is kept nowhere else: it
// goes into a folder that is its owner's alone, and never to the screen.
import { join, resolve } from 'node:path';
import type { GrantedIdentity } from '../../gateway/admin/admin-ports.ts';
import { writeFileAtomically } from '../../kit/files/atomic-file.ts';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';

export async function writeIdentity(folder: string, identity: GrantedIdentity): Promise<void> {
  const path = resolve(folder);
  // The key first: a certificate that is in place has its key beside it.
  await writeFileAtomically(join(path, 'key.pem'), identity.key, 0o600);
  await writeFileAtomically(join(path, 'ca.pem'), identity.ca, 0o644);
  await writeFileAtomically(join(path, 'certificate.pem'), identity.certificate, 0o644);
}

/** Before anything is registered: a key that could not be written would be lost. */
export function prepareIdentityFolder(folder: string): void {
  ensurePrivateDirectory(resolve(folder));
}
