// The few files of /etc that a sandbox has of its own: who it is, how names are found, what it is called. They say nothing
// about the host: no other users, no resolver, no name of the machine.
import { writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { HostFiles } from '../files/host-files.ts';
import { liesInAny, normalPath } from '../files/path-relations.ts';
import type { BoundFile, MountFlavour } from '../files/plan-mounts.ts';
import { systemFolders } from '../files/system-mounts.ts';

export interface NamedUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

export interface EtcOptions {
  readonly flavour: MountFlavour;
  /** A private folder that exists. */
  readonly folder: string;
  readonly user: NamedUser;
  readonly home: string;
  readonly shell: string;
}

const sandboxHostname = 'sallyport';

/** Writes them, and says where each is to be bound. */
export function writeSandboxEtc(options: EtcOptions, files: HostFiles): BoundFile[] {
  const texts = textsOf(options);
  return Object.entries(texts).flatMap(([name, text]) => {
    const target = options.flavour === 'image' ? `/etc/${name}` : placeOf(`/etc/${name}`, files);
    if (target === null) return [];
    const source = join(options.folder, name);
    writeFileSync(source, text, { mode: 0o644 });
    return [{ source, target }];
  });
}

function textsOf({ flavour, user, home, shell }: EtcOptions): Record<string, string> {
  // Every address is the sandbox's own, and at every one of them the door answers: the nearest will do.
  const names = {
    'resolv.conf': 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\n',
    hosts: `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 ${sandboxHostname}\n`,
    // Without services of the host that answer for others: their sockets are not there, and asking them takes time.
    'nsswitch.conf': nameSwitch,
  };
  if (flavour === 'whole') return names;
  const people = new Map([
    [0, `root:x:0:0:root:/root:${shell}`],
    [65534, 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin'],
    [user.uid, `${plain(user.name)}:x:${user.uid}:${user.gid}::${plain(home)}:${plain(shell)}`],
  ]);
  const groups = new Map([
    [0, 'root:x:0:'],
    [65534, 'nogroup:x:65534:'],
    [user.gid, `${user.gid === 0 ? 'root' : plain(user.name)}:x:${user.gid}:`],
  ]);
  return {
    ...names,
    passwd: lines([...people.values()]),
    group: lines([...groups.values()]),
    // Docker gives a container its own name.
    ...(flavour === 'host' ? { hostname: `${sandboxHostname}\n` } : {}),
  };
}

/** The user's shell when the sandbox has it. */
export function sandboxShell(wanted: string | undefined, files: HostFiles): string {
  const path = wanted === undefined || !isAbsolute(wanted) ? null : normalPath(wanted);
  return path !== null && liesInAny(path, systemFolders) && files.realPath(path) !== null ? path : '/bin/sh';
}

/**
 * Where a file must be bound so that `path` leads to it. /etc is the host's and read-only, so nothing can be added to it:
 * what is a link there (to /run, mostly) is put where the link leads. null: the host has none, and programs manage without.
 */
function placeOf(path: string, files: HostFiles): string | null {
  const facts = files.look(path);
  if (facts === null) return null;
  if (facts.kind !== 'link') return path;
  const real = files.realPath(path);
  if (real !== null) return real;
  const to = files.readLink(path) ?? '';
  const led = normalPath(isAbsolute(to) ? to : `/etc/${to}`);
  return led === null || liesInAny(led, systemFolders) ? null : led;
}

const nameSwitch = lines([
  'passwd: files',
  'group: files',
  'shadow: files',
  'hosts: files dns',
  'networks: files',
  'protocols: files',
  'services: files',
  'ethers: files',
  'rpc: files',
]);

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

/** A colon or a line end would make another field, or another user. */
function plain(text: string): string {
  return text.replace(/[:\n\r\0]/g, '_');
}
