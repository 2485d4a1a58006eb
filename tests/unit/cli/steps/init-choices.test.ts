import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { choose, type HowToChoose } from '../../../../src/cli/steps/init-choices.ts';
import { describeRemotes, nextCommand, ownCommand } from '../../../../src/cli/steps/init-report.ts';
import { surveyProject } from '../../../../src/policy/init/survey.ts';
import { pretendMachine } from '../../policy/pretend-machine.ts';

const survey = (programs: readonly string[], ...urls: readonly string[]) => {
  const config = urls.map((url, at) => `[remote "${at === 0 ? 'origin' : `r${at}`}"]\n\turl = ${url}\n`).join('');
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
    { isInDoubt: false, isOwn: true, isSilent: false, ...how },
    hear,
  );
  const hosts = found.gitHosts.map(({ host }) => host).filter((host) => !chosen.leftOut.has(host));
  return { ...chosen, hosts, refused: [...chosen.refused], questions: asked.match(/\? \[/g)?.length ?? 0, asked };
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
    expect(chosen).toMatchObject({ agents: ['codex'], hosts: ['github.com'], refused: ['anthropic'] });
    expect(chosen.asked).toContain('cursor: not found here');
  });

  test('is nothing at all with --yes, and in doubt Enter takes no remote', async () => {
    const found = survey(['claude', 'codex'], github, own);
    expect(await answer('', found, { isSilent: true })).toMatchObject({ questions: 0, hosts: ['github.com'] });
    expect(await answer('', found, { isSilent: true, isInDoubt: true })).toMatchObject({ hosts: [] });
    const doubted = await answer('\n\n\n', found, { isInDoubt: true });
    expect(doubted).toMatchObject({ hosts: [], refused: ['github'] });
    expect(nextCommand(found, doubted, true, { self: 'sallyport', config: null })).toBe(
      'sallyport run --repo OWNER/REPO -- claude',
    );
    const confirmed = await answer('\ny\n\n', found, { isInDoubt: true });
    expect(nextCommand(found, confirmed, true, { self: ownCommand('/c/sallyport', '/c'), config: null })).toBe(
      './sallyport run --repo acme/widgets -- claude',
    );
    expect(ownCommand('/a b/sallyport', '/c')).toBe("'/a b/sallyport'");
  });

  test('with --yes another host than GitHub is taken as `origin` of the user’s own repository alone, and all is said', async () => {
    const said = async (how: Partial<HowToChoose>, ...urls: string[]) => {
      const found = survey(['claude'], ...urls);
      const { leftOut, refused, agents, asks } = await answer('', found, { isSilent: true, ...how });
      return describeRemotes(found, { leftOut, refused: new Set(refused), agents, asks }).join('\n');
    };
    const given = '`run --repo acme/widgets` gives a sandbox this repository, to fetch and to push.';
    expect(await said({}, own, github)).toBe(
      `git.corp.example: allowed.\ngithub.com: allowed, with the preset github.\n${given}`,
    );
    expect(await said({}, github, own, 'git@gitlab.com:acme/widgets', 'work:a/b')).toBe(
      `github.com: allowed, with the preset github.
git.corp.example: in it as a comment only (unasked, only \`origin\` is taken).
gitlab.com: in it as a comment only (unasked, only \`origin\` is taken).
remote r3: in it as a comment only (its host is a name without a dot, which only this machine knows).
${given}`,
    );
    expect(await said({ isOwn: false }, own)).toContain('(the repository belongs to another user of this machine)');
    expect(await said({ isOwn: false }, github)).toContain(given);
    const doubted = await said({ isInDoubt: true }, github);
    expect(doubted).toContain('github.com: allowed, as without a file; which repository is yours');
    expect(doubted).not.toContain('--repo');
  });
});
