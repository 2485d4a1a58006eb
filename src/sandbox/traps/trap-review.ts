// Two snapshots of a folder compared, in words for its user: one screen, the most dangerous first, each with the command that
// takes it back. Everything in it came out of a sandbox: nothing of it may drive a terminal, or be more than one word to a shell.
import { join } from 'node:path';
import { quoteIfNeeded } from '../../kit/text/shell-quote.ts';
import { escapeUnseen } from '../../kit/text/unseen.ts';
import { asText, type GitSetting, isHarmless, readSettings } from './git-settings.ts';
import type { HostTraps } from './host-traps.ts';

/** With a heading and an end it fits on a small screen. */
const maxLines = 16;
const maxNamed = 4;
const maxText = 160;

interface TrapFinding {
  /** 0: git or the system acts on it by itself. 1: when somebody enters or opens a folder. 2: something is missing. */
  readonly danger: 0 | 1 | 2;
  readonly what: string;
  readonly undo: string | null;
}

interface ReviewOptions {
  /** What goes before each name where the folder is not the working directory. */
  readonly prefix?: string;
  /** Whole paths of which more was said already. */
  readonly told?: ReadonlySet<string>;
}

/** Empty: nothing to look at. */
export async function reviewHostTraps(
  before: HostTraps,
  after: HostTraps,
  { prefix = '', told = new Set() }: ReviewOptions = {},
): Promise<string[]> {
  const newOnes = [...after.repositories].filter((path) => !before.repositories.has(path));
  const made = newOnes.filter((path) => !newOnes.some((other) => path.startsWith(`${other}/`)));
  const isInMade = (name: string): boolean => made.some((path) => name === path || name.startsWith(`${path}/`));
  const named = (name: string): string => join(prefix, name);
  const found = [
    ...(await Promise.all(made.map((path) => newRepository(path, before, after, named)))),
    ...(await changedSettings(before, after, isInMade, named)),
    ...changedLinks(before, after, named),
    ...changedFiles(before, after, (name) => isInMade(name) || told.has(join(after.folder, name)), named),
  ].sort((a, b) => a.danger - b.danger);
  const limits = [
    ...(before.complete && after.complete
      ? []
      : [
          'the folder has too many files or submodules: not all were searched for files that programs on this host act on.',
        ]),
    ...(after.completeBelow
      ? []
      : [
          'node_modules and similar folders are too large: not all of them were searched for repositories and setuid files.',
        ]),
  ];
  if (found.length === 0) return limits;
  const shown = found.slice(0, maxLines).map(({ what, undo }) => (undo === null ? what : `${what} Undo: ${undo}`));
  const rest = found.length - shown.length;
  return [
    ...shown,
    ...(rest > 0 ? [`and ${rest} more that matter less. \`git status --ignored\` shows what is new.`] : []),
    ...limits,
    'Look at these before you use git, an editor or an agent here on the host.',
  ];
}

type Named = (name: string) => string;

/** One line for all that it has: it goes as a whole. */
async function newRepository(path: string, before: HostTraps, after: HostTraps, named: Named): Promise<TrapFinding> {
  const within = (name: string): boolean => name.startsWith(`${path}/`);
  const files = [...after.settings].filter(([name]) => within(name));
  const lists = await Promise.all(files.map(([, text]) => (text === null ? null : readSettings(text))));
  const settings = lists.flatMap((list) => list?.filter((each) => !isHarmless(each)).map(asText) ?? ['(unreadable)']);
  const others = [...after.files.keys()].filter(within).map((name) => name.slice(path.length + 1));
  const has = [...settings, ...others].map(printable);
  const isSure = before.complete && !after.unsure.has(path);
  const what = `${printable(named(path))} was made${isSure ? '' : ' or changed'}: a repository${has.length === 0 ? '' : ` with ${listed(has)}`}.`;
  // A folder of another name may have been there, with files of its user in it: without its HEAD it is no repository.
  const isWhole = /(?:^|\/)\.git(?:\/|$)/.test(path);
  const remove = isWhole ? command('rm', '-rf', '--', named(path)) : command('rm', '--', named(join(path, 'HEAD')));
  return { danger: 0, what, undo: isSure ? remove : null };
}

async function changedSettings(
  before: HostTraps,
  after: HostTraps,
  isInMade: (name: string) => boolean,
  named: Named,
): Promise<TrapFinding[]> {
  const changed = [...new Set([...before.settings.keys(), ...after.settings.keys()])].filter(
    (name) =>
      !isInMade(name) && (after.settings.get(name) === null || before.settings.get(name) !== after.settings.get(name)),
  );
  const found = changed.map(async (name): Promise<TrapFinding[]> => {
    const [text, earlier] = [
      after.settings.get(name) ?? (after.settings.has(name) ? null : ''),
      before.settings.get(name),
    ];
    const [now, then] = await Promise.all([text === null ? null : readSettings(text), readSettings(earlier ?? '')]);
    const file = named(name);
    if (now === null)
      return [{ danger: 0, what: `${printable(file)} is not a settings file that git can read.`, undo: null }];
    const added = without(now, then ?? []).filter((each) => !isHarmless(each));
    const removed = without(then ?? [], now).filter((each) => !isHarmless(each));
    return [
      ...added.map((each) => setting(file, each, removed.find(({ key }) => key === each.key) ?? null)),
      ...removed.filter(({ key }) => !added.some((each) => each.key === key)).map((each) => missingSetting(file, each)),
    ];
  });
  return (await Promise.all(found)).flat();
}

function setting(file: string, each: GitSetting, earlier: GitSetting | null): TrapFinding {
  const undo =
    earlier === null
      ? command('git', 'config', '--file', file, '--fixed-value', '--unset-all', each.key, each.value ?? '')
      : command('git', 'config', '--file', file, each.key, earlier.value ?? 'true');
  return {
    danger: 0,
    what: `git: ${printable(asText(each))} was set in ${printable(file)}; git on this host follows it.`,
    // A key without a value matches none.
    undo:
      each.value === null && earlier === null
        ? command('git', 'config', '--file', file, '--unset-all', each.key)
        : undo,
  };
}

function missingSetting(file: string, each: GitSetting): TrapFinding {
  const undo = command('git', 'config', '--file', file, '--add', each.key, each.value ?? 'true');
  return { danger: 2, what: `git: ${printable(asText(each))} was removed from ${printable(file)}.`, undo };
}

function without(list: readonly GitSetting[], others: readonly GitSetting[]): GitSetting[] {
  const texts = new Set(others.map(asText));
  return list.filter((each) => !texts.has(asText(each)));
}

function changedLinks(before: HostTraps, after: HostTraps, named: Named): TrapFinding[] {
  return [...after.gitlinks].flatMap(([git, links]): TrapFinding[] => {
    const earlier = before.gitlinks.get(git);
    if (links === null)
      return earlier === null
        ? []
        : [{ danger: 0, what: `${printable(named(join(git, 'index')))} cannot be read.`, undo: null }];
    const root = join(git, '..');
    return links
      .filter((link) => !(earlier ?? []).includes(link))
      .map((link) => ({
        danger: 0,
        what: `${printable(named(join(root, link)))} is, for git, a repository inside this one (a gitlink): git status runs there too.`,
        undo: command('git', '-C', named(root), 'update-index', '--force-remove', '--', link),
      }));
  });
}

/** Folders of programs, all of whose files count: one line for each. */
const programFolder =
  /^(?:.*\/)?(?:\.vscode|\.zed|\.claude|\.cursor|\.opencode|\.gemini|\.codex|\.idea|\.mise|\.husky|\.devcontainer|\.mvn|\.cargo)(?=\/)/;

function changedFiles(
  before: HostTraps,
  after: HostTraps,
  isToldOtherwise: (name: string) => boolean,
  named: Named,
): TrapFinding[] {
  const groups = new Map<string, string[]>();
  const verbs = new Map<string, 'made' | 'changed' | 'removed'>();
  for (const name of new Set([...after.files.keys(), ...before.files.keys()])) {
    const [now, then] = [after.files.get(name), before.files.get(name)];
    if (now === then || isToldOtherwise(name)) continue;
    verbs.set(name, then === undefined ? 'made' : now === undefined ? 'removed' : 'changed');
    const group = `${verbs.get(name)} ${programFolder.exec(name)?.[0] ?? name}`;
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const isInGit = (name: string): boolean => [...after.repositories].some((git) => name.startsWith(`${git}/`));
  return [...groups.values()].map((names): TrapFinding => {
    const [first] = names as [string];
    const verb = verbs.get(first)!;
    const seen = after.files.get(first) ?? '';
    const whole = names.map(named);
    const what = `${listed(whole.map(printable))} ${names.length > 1 ? 'were' : 'was'} ${verb}`;
    if (verb === 'removed')
      return { danger: 2, what: `${what}.`, undo: isInGit(first) ? null : command('git', 'checkout', '--', ...whole) };
    if (isSetuid(seen))
      return {
        danger: 0,
        what: `${listed(whole.map(printable))}: anyone who runs it gets the rights of its owner or group (setuid or setgid).`,
        undo: command('chmod', 'ug-s', '--', ...whole),
      };
    const isGrave = isInGit(first) || after.named.has(first) || seen === 'device' || alwaysGrave.test(first);
    const remove = command('rm', ...(seen === 'folder' ? ['-rf'] : []), '--', ...whole);
    const restore = isInGit(first) ? null : command('git', 'checkout', '--', ...whole);
    // What nobody saw before may have been there.
    const isSure = before.complete && !after.unsure.has(first);
    const undo = verb === 'changed' ? restore : isSure ? remove : null;
    return { danger: isGrave ? 0 : 1, what: `${what}${meaning(first, seen, isInGit(first))}`, undo };
  });
}

const alwaysGrave = /(?:^|\/)(?:\.git|\.gitmodules|sallyport\.yaml)$/;

function meaning(name: string, seen: string, isInGit: boolean): string {
  if (isInGit && seen.startsWith('link '))
    return `: a link to ${printable(seen.slice(5))}, through which git on this host writes.`;
  if (isInGit && /(?:git-rebase-todo|sequencer\/\w+|rebase-apply\/next)$/.test(name))
    return ': git rebase --continue on this host would do, and run, what it says.';
  if (isInGit) return '; git on this host follows it.';
  if (seen === 'device') return ': a device.';
  return '; programs on this host act on it.';
}

function isSetuid(seen: string): boolean {
  return (Number.parseInt(seen, 10) & 0o6000) !== 0;
}

/** Null: it has characters that nobody sees, and could not be written down so that it can be copied. */
function command(...words: readonly string[]): string | null {
  if (words.some((word) => escapeUnseen(word) !== word || word.length > maxText)) return null;
  return words.map((word) => (word === '' ? "''" : quoteIfNeeded(word))).join(' ');
}

function listed(items: readonly string[]): string {
  const rest = items.length - maxNamed;
  return rest > 0 ? `${items.slice(0, maxNamed).join(', ')} and ${rest} more` : items.join(', ');
}

function printable(text: string): string {
  const cut = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return escapeUnseen(JSON.stringify(cut).slice(1, -1));
}
