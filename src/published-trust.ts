// What sandboxes in containers read of the gateway: its CA certificate, a bundle of roots with it, and git's configuration,
// in a folder that they see read-only (a volume). Certificates and settings alone: nothing in it is secret.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { writeFileAtomically } from './kit/atomic-file.ts';
import { sandboxGitFiles } from './launch/sandbox-gitconfig.ts';
import { certificatesIn, readSystemRoots, toPem } from './launch/trust-bundle.ts';

/** Where a sandbox sees the folder: docker/sandbox.env names the files there. */
export const publishedPlace = '/etc/sallyport';

/** The names of what is in it. */
export const publishedNames = { certificate: 'ca.pem', bundle: 'bundle.pem', git: 'git' } as const;

export interface PublishedTrust {
  /** `--publish`: made if it is not there. */
  readonly folder: string;
  readonly caPem: string;
  /** Hosts that serve git, whose ssh URLs are led through the door. */
  readonly gitHosts: readonly string[];
}

const forEverybody = 0o644;

/** Each file is replaced as a whole, and the certificate last: a sandbox that waits for it finds the rest. */
export async function publishTrust({ folder, caPem, gitHosts }: PublishedTrust): Promise<void> {
  const place = (name: string): string => join(folder, name);
  try {
    for (const { name, mode, text } of gitFiles(gitHosts)) {
      const path = place(`${publishedNames.git}/${name}`);
      await mkdir(dirname(path), { recursive: true, mode: 0o755 });
      await writeFileAtomically(path, text, mode);
    }
    await writeFileAtomically(place(publishedNames.bundle), bundleWith(caPem), forEverybody);
    await writeFileAtomically(place(publishedNames.certificate), caPem, forEverybody);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new Error(
      `what sandboxes are to read cannot be written to ${folder} (${code}). Name a folder with --publish that user ${process.geteuid?.()} may write to.`,
      { cause },
    );
  }
}

/** Ours first: a reader that stops at something odd in a root has read it. Node's own too: an image may come without any. */
function bundleWith(caPem: string): string {
  const others = toPem([...readSystemRoots(), ...certificatesIn(rootCertificates.join('\n'))]);
  return toPem(certificatesIn(caPem + others));
}

function gitFiles(hosts: readonly string[]): ReturnType<typeof sandboxGitFiles> {
  return sandboxGitFiles({
    directory: `${publishedPlace}/${publishedNames.git}`,
    hosts,
    // Which images have git-lfs cannot be known here; docker/sandbox-entrypoint sets its filters up where it is.
    lfs: false,
    // A workspace that is mounted may belong to anybody, and a container has one user: there is nobody to guard against.
    safeDirectories: ['*'],
  });
}
