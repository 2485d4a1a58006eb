// What `sallyport run --learn` and `sallyport learn` say: what learning means, what a session needed, and which lines would let
// the next one have it. Names of hosts and paths are a sandbox's own words: shown as text alone.
import { relative } from 'node:path';
import type { LearnedEdit } from '../../policy/learn/learned-edit.ts';
import type { LearnedSession } from '../../policy/learn/learned-sessions.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';

type Screen = Pick<CliContext, 'colors' | 'cwd'>;

export const learningMeans = [
  'sallyport: learning. Public hosts that the policy does not know may be read (GET and HEAD over https, no body), without any',
  '  credential. Whatever stands in the address or the header fields of a request can reach any of them: do not learn beside',
  '  secrets. Everything else is judged as always, and the rules of credentials, git and GitHub stay as they are.',
].join('\n');

const refusedShown = 10;

export function describeLearned(screen: Screen, session: LearnedSession, edit: LearnedEdit | null): string {
  const { colors } = screen;
  const lines: string[] = [];
  if (session.entries.length === 0) {
    lines.push(
      session.refused.length === 0
        ? 'sallyport: the policy had everything this session needed.'
        : 'sallyport: there is nothing to propose: what this session needed beyond the policy is not for learning to give.',
    );
  } else if (edit?.count === 0 && edit.leftOut.length === 0) {
    lines.push(`sallyport: ${shownPath(screen, edit.file)} has everything that this session needed by now.`);
  } else if (edit !== null && edit.count > 0) {
    const what = edit.isNew ? 'a new file' : `line ${edit.line}`;
    lines.push(`sallyport: to let the next session read what this one read, ${shownPath(screen, edit.file)}, ${what}:`);
    for (const line of edit.added.split('\n')) lines.push(colors.green(`  + ${printable(line)}`));
  }
  for (const host of edit?.leftOut ?? []) {
    const file = shownPath(screen, edit!.file);
    lines.push(
      `sallyport: ${printable(host)} is left out: it would reach a host that ${file} has a rule for by now. Write what is missing yourself.`,
    );
  }
  if (session.leftOut > 0) lines.push(`  ${session.leftOut} more were too many to list.`);
  return [...lines, ...describeRefused(screen, session)].join('\n');
}

function describeRefused(screen: Screen, { refused, config }: LearnedSession): string[] {
  if (refused.length === 0) return [];
  const { colors } = screen;
  const lines = [
    `Still refused, and not proposed${refused.length > refusedShown ? ` (${refused.length} in all)` : ''}:`,
  ];
  for (const one of refused.slice(0, refusedShown)) {
    const usual = one.scheme === 'http' ? 80 : 443;
    const port = one.port === usual ? '' : `:${one.port}`;
    const isPlain = one.scheme === 'tcp';
    const target = one.path === '' && !isPlain ? one.host : `${one.scheme}://${one.host}${port}${one.path}`;
    const times = one.times === 1 ? 'once' : `${one.times} times`;
    const place = one.line === null || config === null ? one.rule : `${one.rule}, line ${one.line}`;
    lines.push(
      `  ${printable(`${one.method} ${target}`)}  ${times}`,
      colors.dim(`    ${printable(one.reason)} (${printable(place)})`),
    );
    // More than to read: for a person to write.
    if (isPlain)
      lines.push(colors.dim(`    to allow it unread: - { host: ${printable(one.host)}, tcp: [${one.port}] }`));
  }
  return lines;
}

/** `1 line`, `3 lines`. */
export function countLines(count: number): string {
  return `${count} line${count === 1 ? '' : 's'}`;
}

/** As a person here would type it. */
export function shownPath({ cwd }: Pick<Screen, 'cwd'>, file: string): string {
  const path = relative(cwd, file);
  return printable(path === '' || path.startsWith('..') ? file : `./${path}`);
}
