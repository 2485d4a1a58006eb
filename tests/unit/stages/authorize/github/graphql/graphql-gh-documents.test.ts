// What gh 2.23 sends for its ordinary commands, recorded, against the judge with the default effects.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ask } from './graphql-ask.ts';

interface Recorded {
  readonly command: string;
  readonly requests: readonly object[];
}

const recorded: readonly Recorded[] = JSON.parse(
  readFileSync(new URL('./graphql-gh-documents.json', import.meta.url), 'utf8'),
);

/** Commands that a sandbox may not use, and what it is told. */
const refused: Readonly<Record<string, RegExp>> = {
  'pr merge 1 --merge': /^github\.effect: the mutation mergePullRequest is not allowed/,
  'pr merge 1 --auto --squash': /^github\.effect: the mutation mergePullRequest is not allowed/,
  'pr review 1 --approve': /^github\.effect: the mutation addPullRequestReview is not allowed: its effect is "approve"/,
  'issue delete 2 --yes': /^github\.effect: the mutation deleteIssue is not allowed/,
  'repo list': /^github\.graphql: User\.repositories cannot be selected/,
};

test.each(recorded)('gh $command gets what the default policy gives it', async ({ command, requests }) => {
  const answers: string[] = [];
  for (const request of requests) answers.push((await ask(request)).said);
  const refusals = answers.filter((answer) => answer !== 'allowed');
  const expected = refused[command];
  if (expected === undefined) expect(refusals).toEqual([]);
  else expect(refusals.join('\n')).toMatch(expected);
});

test('every ordinary command is among the recorded ones', () => {
  const commands = recorded.map(({ command }) => command.split(' ').slice(0, 2).join(' '));
  const ordinary =
    'pr create,pr list,pr view,pr close,pr comment,pr review,pr checks,pr status,pr edit,issue create,issue list,issue view,issue comment,issue close,issue edit,repo view,release list';
  for (const command of ordinary.split(',')) expect(commands).toContain(command);
});
