// What `sallyport init` asks a person: at most three questions, each with an answer that Enter takes. Where nobody is to be asked,
// the same answers hold, but nothing is taken for granted that a sandbox may have written.
import type { Choices } from '../../policy/init/compose-config.ts';
import type { GitHost, ProjectSurvey } from '../../policy/init/survey.ts';
import type { CliContext } from '../cli-context.ts';
import { openQuestions, type Prompts } from '../terminal/ask-person.ts';
import { printable } from '../terminal/printable.ts';

export interface HowToChoose {
  /** The remotes may be the work of a sandbox. */
  readonly isInDoubt: boolean;
  /** The repository belongs to who asks. */
  readonly isOwn: boolean;
  readonly isSilent: boolean;
}

type Chosen = Omit<Choices, 'schema'>;

export async function choose(
  context: Pick<CliContext, 'stdin' | 'isTerminal' | 'say'>,
  survey: ProjectSurvey,
  how: HowToChoose,
  write?: (text: string) => unknown,
): Promise<Chosen> {
  const defaults: Chosen = {
    agents: survey.agents.map(({ program }) => program),
    leftOut: unasked(survey.gitHosts, how),
    refused: new Set(),
    asks: false,
  };
  if (how.isSilent || context.stdin.isTTY !== true || !context.isTerminal) return defaults;
  const questions = openQuestions(context.stdin, write);
  try {
    const agents = await chooseAgents(questions, context, defaults.agents);
    const leftOut = await chooseHosts(questions, survey.gitHosts, how.isInDoubt);
    return {
      agents,
      leftOut,
      refused: saidNoTo(survey, agents, leftOut),
      asks: await questions.askYesOrNo(
        'Ask you about reads that the policy does not cover, on any host, instead of refusing them at once?',
        defaults.asks,
      ),
    };
  } finally {
    questions.close();
  }
}

async function chooseAgents(
  questions: Prompts,
  context: Pick<CliContext, 'say'>,
  found: readonly string[],
): Promise<string[]> {
  if (found.length < 2) return [...found];
  for (;;) {
    const answer = await questions.ask('Which agents are to work in sandboxes?', found.join(' '));
    const words = answer.split(/[\s,]+/).filter((word) => word !== '');
    const unknown = words.filter((word) => !found.includes(word));
    if (unknown.length === 0) return words;
    context.say(`${printable(unknown.join(', '))}: not found here. Name some of: ${found.join(' ')}`);
  }
}

/** Where nobody is asked: GitHub, and else only where the user's own repository comes from. */
function unasked(hosts: readonly GitHost[], { isInDoubt, isOwn }: HowToChoose): Map<string, string> {
  const reasonAgainst = ({ preset, isOrigin }: GitHost): string | null => {
    if (isInDoubt) return 'a sandbox could have written it';
    if (preset === 'github') return null;
    if (!isOwn) return 'the repository belongs to another user of this machine';
    return isOrigin ? null : 'unasked, only `origin` is taken';
  };
  return new Map(
    hosts.flatMap((host) => {
      const reason = reasonAgainst(host);
      return reason === null ? [] : [[host.host, reason]];
    }),
  );
}

/** What found agents and remotes would bring, had they been named. */
function saidNoTo(
  { agents, gitHosts }: ProjectSurvey,
  chosen: readonly string[],
  leftOut: ReadonlyMap<string, string>,
): Set<string> {
  const presetsOf = (isWanted: boolean): string[] => [
    ...agents.filter(({ program }) => chosen.includes(program) === isWanted).flatMap(({ presets }) => presets),
    ...gitHosts.flatMap(({ host, preset }) => (preset !== null && leftOut.has(host) !== isWanted ? [preset] : [])),
  ];
  const wanted = presetsOf(true);
  return new Set(presetsOf(false).filter((preset) => !wanted.includes(preset)));
}

/** Hosts that a preset knows need no question, unless they may not be the user's own doing. */
async function chooseHosts(
  questions: Prompts,
  hosts: readonly GitHost[],
  isInDoubt: boolean,
): Promise<Map<string, string>> {
  const unsure = hosts.filter(({ preset }) => isInDoubt || preset === null).map(({ host }) => host);
  if (unsure.length === 0) return new Map();
  const doubt = isInDoubt ? ' A sandbox could change this since it was cloned: is it right?' : '';
  const names = unsure.map(printable).join(', ');
  const isYes = await questions.askYesOrNo(
    `This repository has remotes at ${names}.${doubt} May sandboxes reach them?`,
    !isInDoubt,
  );
  return new Map(isYes ? [] : unsure.map((host) => [host, 'you said no']));
}
