// What `sallyport init` says it has found, and the command it ends with. Names and places only; what stands in files that a
// sandbox may have written is made harmless.
import { dirname } from 'node:path';
import { quoteIfNeeded } from '../../kit/text/shell-quote.ts';
import { allowedPresets, type Choices, remoteCalled, takenRepository } from '../../policy/init/compose-config.ts';
import type { FoundCredential } from '../../policy/init/find-credentials.ts';
import type { ProjectSurvey } from '../../policy/init/survey.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';

export function describeSurvey({ colors }: Pick<CliContext, 'colors'>, survey: ProjectSurvey): string {
  const rows: [string, readonly string[]][] = [
    ['agents', survey.agents.map(({ program }) => program)],
    ['credentials', survey.credentials.map(describeCredential)],
    ['remotes', (survey.repository?.remotes ?? []).map((one) => `${one.name}: ${one.host}/${one.repository ?? '…'}`)],
    ['packages', survey.packages.map(({ preset, file }) => `${preset} (${file})`)],
    ['isolated by', launchersOf(survey)],
  ];
  const lines = rows.map(([title, found]) => {
    const cells = found.length === 0 ? [colors.dim(nothingFound[title] ?? 'none')] : found.map(printable);
    return `  ${title.padEnd(12)} ${cells.join(`\n${' '.repeat(15)}`)}`;
  });
  return ['Found:', ...lines].join('\n');
}

const nothingFound: Readonly<Record<string, string>> = {
  agents: 'none on PATH: the configuration will have the usual providers',
  credentials: 'none: set one later with `sallyport secret set NAME`',
  remotes: 'none: this is no repository, or it has no remote on another machine',
  packages: 'none',
};

function describeCredential({ name, where, what }: FoundCredential): string {
  return `${name} (${what === 'environment variable' ? what : `${what},`} ${where})`;
}

function launchersOf({ launchers }: ProjectSurvey): string[] {
  return [
    launchers.bubblewrap ? 'bubblewrap' : 'namespaces (bubblewrap is not installed)',
    ...(launchers.docker ? ['Docker (--image IMAGE)'] : []),
  ];
}

/** What became of the remotes. Empty: there is none. */
export function describeRemotes(survey: ProjectSurvey, choices: Omit<Choices, 'schema'>): readonly string[] {
  const allowed = allowedPresets(survey, choices);
  const hosts = survey.gitHosts.map(({ host, preset }) => {
    const name = printable(host);
    const reason = choices.leftOut.get(host);
    if (reason === undefined) return `${name}: allowed${preset === null ? '' : `, with the preset ${preset}`}.`;
    if (preset !== null && allowed.has(preset))
      return `${name}: allowed, as without a file; which repository is yours is for you to say (${reason}).`;
    return `${name}: in it as a comment only (${reason}).`;
  });
  const unread = (survey.repository?.unread ?? []).map(
    ({ name, reason }) => `${remoteCalled(name)}: in it as a comment only (${reason}).`,
  );
  const repository = takenRepository(survey, choices);
  const given = `\`run --repo ${repository}\` gives a sandbox this repository, to fetch and to push.`;
  return [...hosts, ...unread, ...(repository === null ? [] : [given])];
}

/**
 * `config`: the file that was written, where it must be named; null: it is found without.
 * In doubt the repository is left for the user to name: a remote that a sandbox wrote would be pushed to.
 */
export function nextCommand(
  survey: ProjectSurvey,
  choices: Pick<Choices, 'agents' | 'leftOut'>,
  isInDoubt: boolean,
  { self, config }: { readonly self: string; readonly config: string | null },
): string {
  const isNamed = survey.repository?.remotes.some(({ repository }) => repository !== null) === true;
  const name = takenRepository(survey, choices) ?? (isInDoubt && isNamed ? 'OWNER/REPO' : null);
  const repo = name === null ? '' : ` --repo ${name}`;
  const named = config === null ? '' : ` --config ${quoteIfNeeded(config)}`;
  return `${self} run${named}${repo} -- ${choices.agents[0] ?? 'bash'}`;
}

/** How the launcher of a clone is called from here. */
export function ownCommand(launcher: string, cwd: string): string {
  if (dirname(launcher) === cwd) return './sallyport';
  return quoteIfNeeded(launcher);
}
