// Where programs of the user's session listen on Unix sockets: buses, terminals, agents, displays. One message to any of
// them starts a program outside of the sandbox. Where the host's files are visible these folders are covered, as a
// launcher's own precaution: what a plan masks comes on top of it.
import { readdirSync, statSync } from 'node:fs';
import type { Mount, SandboxPlan } from '../run/sandbox-plan.ts';

/** systemd and D-Bus (`systemd-run --user` needs no more), screen, displays and sessions. */
const known = ['/run/user', '/run/dbus', '/run/systemd/private', '/run/screen', '/tmp/.X11-unix', '/tmp/.ICE-unix'];
/** In /tmp, by the first letters of their names: tmux, agents of ssh and gpg, editors. */
const inTmp = /^(tmux-|ssh-|gpg-|emacs|screen|vscode-|dbus-|pulse-)/;

/** Masks for those that are there, save where the plan itself needs something inside. */
export function coverSocketFolders(
  plan: SandboxPlan,
  listFolders: (folder: string) => readonly string[] = listFoldersOf,
): readonly Mount[] {
  const needed = [
    plan.workingDirectory,
    ...plan.mounts.flatMap((mount) => ('source' in mount ? [mount.source, mount.target] : [])),
    ...Object.values(plan.environment).flatMap((value) => value.split(':')),
  ];
  return [...new Set(known.map(parentOf))]
    .flatMap((parent) => listFolders(parent).map((name) => `${parent}/${name}`))
    .filter((folder) => known.includes(folder) || (parentOf(folder) === '/tmp' && inTmp.test(folder.slice(5))))
    .filter((folder) => !needed.some((path) => path === folder || path.startsWith(`${folder}/`)))
    .map((target) => ({ kind: 'masked-folder', target }));
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function listFoldersOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) =>
      statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.isDirectory(),
    );
  } catch {
    return [];
  }
}
