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
    gitHosts: new Set(how.isInDoubt ? [] : survey.gitHosts.map(({ host }) => host)),
    asks: false,
  };
  if (how.isSilent || context.stdin.isTTY !== true || !context.isTerminal) return defaults;
  const questions = openQuestions(context.stdin, write);
  try {
    return {
      agents: await chooseAgents(questions, context, defaults.agents),
      gitHosts: await chooseHosts(questions, survey.gitHosts, how.isInDoubt),
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

/** Hosts that a preset knows need no question, unless they may not be the user's own doing. */
async function chooseHosts(questions: Prompts, hosts: readonly GitHost[], isInDoubt: boolean): Promise<Set<string>> {
  const unsure = hosts.filter(({ preset }) => isInDoubt || preset === null).map(({ host }) => host);
  const known = hosts.map(({ host }) => host).filter((host) => !unsure.includes(host));
  if (unsure.length === 0) return new Set(known);
  const doubt = isInDoubt ? ' A sandbox could change this since it was cloned: is it right?' : '';
  const names = unsure.map(printable).join(', ');
  const isYes = await questions.askYesOrNo(
    `This repository has remotes at ${names}.${doubt} May sandboxes reach them?`,
    !isInDoubt,
  );
  return new Set(isYes ? [...known, ...unsure] : known);
}
