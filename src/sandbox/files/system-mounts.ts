// The system of the host as a sandbox sees it: programs and libraries read-only, /etc without what not everybody may read,
// nothing of /var but what programs look up, and no /sys, /run, /home, /mnt or /srv at all.

import type { Mount } from '../run/sandbox-plan.ts';
import type { HostFiles } from './host-files.ts';
import { joined } from './path-relations.ts';

/** Folders that are the system: on every sandbox of this host the same, and never the place of a project. */
export const systemFolders: readonly string[] = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix', '/gnu'],
];

/** Parts of /var that programs read: the bundle of some distributions, and which packages are installed. */
const readOfVar = ['/var/lib/ca-certificates', '/var/lib/dpkg', '/var/lib/alternatives'];

/** Where programs of the host keep their configuration, and with it files that only root or a service may read. */
const configurationFolders = ['/etc', '/usr/local/etc'];
const maxConfigurationEntries = 20_000;

export interface SystemMounts {
  readonly mounts: readonly Mount[];
  readonly notices: readonly string[];
}

export function systemMounts(files: HostFiles): SystemMounts {
  const mounts: Mount[] = [];
  for (const folder of [...systemFolders, ...readOfVar]) {
    const kind = files.look(folder)?.kind;
    // On a system with a merged /usr, /bin is a link; programs and their loaders expect it to be one.
    const to = kind === 'link' ? files.readLink(folder) : null;
    if (to !== null) mounts.push({ kind: 'link', target: folder, to });
    if (kind === 'folder') mounts.push({ kind: 'read-only', source: folder, target: folder });
  }
  const closed = findClosed(files);
  mounts.push(...closed.mounts);
  mounts.push({ kind: 'empty', target: '/run' });
  mounts.push({ kind: 'link', target: '/var/run', to: '/run' });
  mounts.push({ kind: 'empty', target: '/var/tmp' });
  return { mounts, notices: closed.notices };
}

/**
 * Masks for what this user can read in /etc and not everybody can: as root that is all of it (shadow, host keys), and
 * members of a group have their share of it.
 */
function findClosed(files: HostFiles): SystemMounts {
  const mounts: Mount[] = [];
  let seen = 0;
  const folders = configurationFolders.filter((folder) => files.look(folder)?.kind === 'folder');
  for (const folder of folders) {
    for (const { name, kind } of files.list(folder)) {
      if (++seen > maxConfigurationEntries)
        return { mounts, notices: [`/etc has more than ${maxConfigurationEntries} entries: not all were checked`] };
      if (kind === 'link') continue;
      const path = joined(folder, name);
      const mode = files.look(path)?.mode;
      if (mode === undefined) continue;
      if (kind === 'folder') {
        if ((mode & 0o005) === 0o005) folders.push(path);
        else if (files.canRead(path)) mounts.push({ kind: 'masked-folder', target: path });
      } else if (kind !== 'file' || ((mode & 0o004) === 0 && files.canRead(path))) {
        mounts.push({ kind: 'masked-file', target: path });
      }
    }
  }
  return { mounts, notices: [] };
}
