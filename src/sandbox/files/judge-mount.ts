// May this be let in? After every link was followed: what is dangerous, or lies in something dangerous, is refused; what
// contains something dangerous is let in with that masked. Judges by path and by inode, so an alias does not help.
import type { FileKind, HostFiles } from './host-files.ts';
import { liesIn, liesInAny, normalPath } from './path-relations.ts';
import type { Danger, DangerSurvey } from './survey-dangers.ts';

export interface MountRefusal {
  readonly reason: string;
  readonly hint: string;
}

export type Judgement =
  | { readonly refused: MountRefusal }
  | {
      readonly refused: null;
      /** What is to be mounted: the thing itself, so that a link changed afterwards leads nowhere else. */
      readonly source: string;
      readonly kind: 'file' | 'folder';
      /** What must be covered in it. */
      readonly masks: readonly Danger[];
    };

const temporary = ['/tmp', '/var/tmp'];

export function judgeMount(source: string, survey: DangerSurvey, files: HostFiles): Judgement {
  const path = normalPath(source);
  if (path === null) return refuse(`${source} is not an absolute path`, 'Write the whole path.');
  const real = files.realPath(path);
  const facts = real === null ? null : files.look(real);
  if (real === null || facts === null)
    return refuse(`${path} does not exist, or may not be looked at`, 'Check the path, or leave the mount out.');
  const called = real === path ? path : `${path} (really ${real})`;

  if (facts.kind !== 'file' && facts.kind !== 'folder')
    return refuse(
      `${called} is ${inWords[facts.kind]}: whatever is behind it would be a way around the door`,
      'Only files and folders are let in.',
    );
  const danger = dangerAround(real, survey.dangers, files);
  if (danger !== null) {
    const where = danger.real === real ? 'is' : 'lies in';
    return refuse(
      `${called} ${where} ${danger.path}: ${danger.rule}, which no sandbox gets`,
      'Credentials stay outside and are put in by the door: see `credentials` in sallyport.yaml. Copy anything else to a folder of its own.',
    );
  }
  if (real === '/' || survey.homes.some((home) => liesIn(home, real)))
    return refuse(
      `${called} ${survey.homes.includes(real) ? 'is a home folder' : 'contains a home folder'}: too much of it is private`,
      'Name the folders that are needed, one by one.',
    );
  if (temporary.includes(real))
    return refuse(
      `${called} is where every program of the host keeps sockets and scratch files`,
      'Name a folder inside it. The sandbox has a /tmp of its own.',
    );
  return { refused: null, source: real, kind: facts.kind, masks: dangersIn(real, survey.dangers) };
}

/** The danger that `real` is or lies in. */
function dangerAround(real: string, dangers: readonly Danger[], files: HostFiles): Danger | null {
  const identities = new Set<string>();
  // The same folder may be mounted on the host under a second name, which no link gives away.
  for (let at = real; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const identity = files.look(at)?.identity;
    if (identity !== undefined) identities.add(identity);
  }
  const around = dangers.filter((danger) => liesIn(real, danger.real) || identities.has(danger.identity));
  return around.find((danger) => !liesInAny(real, danger.except)) ?? null;
}

/** The outermost of those that lie in `folder`. */
export function dangersIn(folder: string, dangers: readonly Danger[]): Danger[] {
  const inside = dangers.filter((danger) => !danger.place && danger.real !== folder && liesIn(danger.real, folder));
  return inside.filter(
    (danger, i) =>
      !inside.some(
        (other, j) =>
          (other.real !== danger.real && liesIn(danger.real, other.real)) || (other.real === danger.real && j < i),
      ),
  );
}

const inWords: Readonly<Record<FileKind, string>> = {
  file: 'a file',
  folder: 'a folder',
  link: 'a link',
  socket: 'a Unix socket',
  pipe: 'a named pipe',
  device: 'a device',
};

function refuse(reason: string, hint: string): Judgement {
  return { refused: { reason, hint } };
}
