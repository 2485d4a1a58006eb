import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { choose, type HowToChoose } from '../../../../src/cli/steps/init-choices.ts';
import { nextCommand, ownCommand } from '../../../../src/cli/steps/init-report.ts';
import { surveyProject } from '../../../../src/policy/init/survey.ts';
import { pretendMachine } from '../../policy/pretend-machine.ts';

const survey = (programs: readonly string[], ...urls: readonly string[]) => {
  const config = urls.map((url, at) => `[remote "r${at}"]\n\turl = ${url}\n`).join('');
  return surveyProject({
    machine: pretendMachine({ files: { '/p/.git/config': config } }),
    folder: '/p',
    hasProgram: (name) => programs.includes(name),
    launchers: { bubblewrap: true, docker: false },
  });
};

async function answer(typed: string, found: ReturnType<typeof survey>, how: Partial<HowToChoose> = {}) {
  let asked = '';
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(typed);
  const hear = (text: string): void => {
    asked += text;
  };
  const chosen = await choose(
    { stdin, isTerminal: true, say: hear },
    found,
    { isInDoubt: false, isSilent: false, ...how },
    hear,
  );
  return { ...chosen, hosts: [...chosen.gitHosts], questions: asked.match(/\? \[/g)?.length ?? 0, asked };
}

const github = 'git@github.com:acme/widgets';
const own = 'git@git.corp.example:acme/widgets';

describe('what `sallyport init` asks', () => {
  test('is at most three questions, and Enter takes what was found', async () => {
    const { agents, hosts, asks, questions } = await answer('\n\n\n', survey(['claude', 'codex'], github, own));
    expect({ agents, hosts, asks, questions }).toEqual({
      agents: ['claude', 'codex'],
      hosts: ['github.com', 'git.corp.example'],
      asks: false,
      questions: 3,
    });
  });

  test('is one question where there is nothing to choose', async () => {
    expect(await answer('y\n', survey(['claude'], github))).toMatchObject({ questions: 1, asks: true });
  });

  test('takes other answers, and says which it does not know', async () => {
    const typed = 'cursor\ncodex\nn\n\n';
    const chosen = await answer(typed, survey(['claude', 'codex'], github, own));
    expect(chosen).toMatchObject({ agents: ['codex'], hosts: ['github.com'] });
    expect(chosen.asked).toContain('cursor: not found here');
  });

  test('is nothing at all with --yes, and in doubt Enter takes no remote', async () => {
    const found = survey(['claude', 'codex'], github, own);
    expect(await answer('', found, { isSilent: true })).toMatchObject({
      questions: 0,
      hosts: ['github.com', 'git.corp.example'],
    });
    expect(await answer('', found, { isSilent: true, isInDoubt: true })).toMatchObject({ hosts: [] });
    const doubted = await answer('\n\n\n', found, { isInDoubt: true });
    expect(doubted.hosts).toEqual([]);
    expect(nextCommand(found, doubted, true, { self: 'sallyport', config: null })).toBe(
      'sallyport run --repo OWNER/REPO -- claude',
    );
    const confirmed = await answer('\ny\n\n', found, { isInDoubt: true });
    expect(nextCommand(found, confirmed, true, { self: ownCommand('/c/sallyport', '/c'), config: null })).toBe(
      './sallyport run --repo acme/widgets -- claude',
    );
    expect(ownCommand('/a b/sallyport', '/c')).toBe("'/a b/sallyport'");
  });
});
