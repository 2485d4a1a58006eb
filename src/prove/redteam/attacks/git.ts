// Attacks by git: real git in the sandbox against real repositories. A push that is refused must be refused by name in the
// journal, must not move any ref, and no byte of it may arrive.
import type { Attack, AttackFinding, Control, Facts } from '../attack.ts';
import { byName, httpRequest } from '../http-text.ts';
import { answered, arrived, brief, held, hole, refusedInWords, unproven } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { foreignRepository, ownRepository } from '../redteam-hosts.ts';

const site = 'github.com';
const remote = `https://${site}/${ownRepository}`;
/** Of the clone, below the working directory of the attacker. */
const clone = 'clone-of-widgets';

function script(...lines: string[]): Probe {
  return { do: 'run', argv: ['sh', '-ec', lines.join('\n')], env: { GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' } };
}

const git = 'git -c user.name=redteam -c user.email=redteam@example.com';
const commit = (message: string): string => `${git} commit -q --allow-empty -m '${message}'`;

const allowedPush: Control = {
  shows: 'a push to a branch of the sandbox is taken',
  probes: () => [
    script(
      `rm -rf ${clone}`,
      `git clone -q ${remote} ${clone}`,
      `cd ${clone}`,
      'git checkout -q -b sandbox/allowed',
      commit('allowed'),
      'git push -q origin sandbox/allowed',
    ),
  ],
  fails: ([run]) => (run?.exit === 0 ? null : brief(run?.text ?? '')),
};

function judgePush(facts: Facts, codes: RegExp): AttackFinding {
  const [run] = facts.observed;
  if (facts.refs.before !== facts.refs.after) return hole('a ref on the other side has changed');
  const sent = facts.seen.find(({ method, url }) => method === 'POST' && url.endsWith('/git-receive-pack'));
  if (sent !== undefined) return hole(arrived({ ...facts, seen: [sent] }));
  if (run?.exit === 0) return unproven('git says it worked, but no ref has changed');
  const record = facts.journal.find(({ code }) => code !== null && codes.test(code));
  if (record === undefined) return unproven(`${brief(run?.text ?? '')}; the journal has no refusal of it`);
  return held(`${record.code}, no ref changed: ${brief(/remote: (.*)/.exec(run?.text ?? '')?.[1] ?? run?.text ?? '')}`);
}

function pushAttack(name: string, tried: string, codes: RegExp, ...lines: string[]): Attack {
  return {
    name,
    area: 'git',
    tried,
    needs: ['git'],
    looksAt: 'refs',
    control: allowedPush,
    attempt: () => [script(`cd ${clone}`, 'git checkout -q --detach origin/main', ...lines)],
    judge: (facts) => judgePush(facts, codes),
  };
}

export const gitAttacks: readonly Attack[] = [
  pushAttack(
    'git-push-main',
    'a push to a protected branch, also by another spelling',
    /^push\.(?:protected-branch|branch-not-allowed)$/,
    commit('main'),
    'git push origin HEAD:refs/heads/Main || true',
    'git push origin HEAD:refs/heads/main',
  ),
  pushAttack(
    'git-push-other-branch',
    'a push to a branch that is not of the sandbox',
    /^push\.branch-not-allowed$/,
    commit('other'),
    'git push origin HEAD:refs/heads/feature',
  ),
  pushAttack(
    'git-force-push',
    'a push that rewrites history',
    /^push\.force$/,
    commit('rewritten'),
    'git push --force origin HEAD:refs/heads/sandbox/work',
  ),
  pushAttack('git-delete-branch', 'deleting a branch', /^push\.deletion$/, 'git push origin :refs/heads/sandbox/work'),
  pushAttack(
    'git-push-tag',
    'a tag, and moving one that is there',
    /^push\./,
    'git tag -f v1.0.0',
    'git push origin refs/tags/v1.0.0 || true',
    'git push --force origin HEAD:refs/tags/release',
  ),
  pushAttack(
    'git-push-hidden-ref',
    'refs beside branches and tags',
    /^push\./,
    commit('hidden'),
    'git push origin HEAD:refs/pull/1/head || true',
    'git push origin HEAD:refs/notes/x',
  ),
  pushAttack(
    'git-push-workflow',
    'a workflow that would run with the rights of the repository',
    /^push\.protected-path$/,
    'mkdir -p .github/workflows',
    'echo "on: push" > .github/workflows/redteam.yml',
    'git add .github',
    commit('workflow'),
    'git push origin HEAD:refs/heads/sandbox/workflow',
  ),
  pushAttack(
    'git-push-that-unfolds',
    'a small push that costs whoever judges it all memory: a merge that names one parent a thousand times',
    /^(?:limit\.push-work|git\.malformed)$/,
    'blob=$(echo x | git hash-object -w --stdin)',
    'entry=$(printf "100644 blob $blob\\tf")',
    'wide() { seq "$1" | sed "s/^/$entry/" | git mktree; }',
    `root=$(echo root | ${git} commit-tree "$(wide 20000)")`,
    'tree=$(wide 20001)',
    'who="redteam <redteam@example.com> 1 +0000"',
    'merge=$({ echo "tree $tree"; yes "parent $root" | head -n 1000; printf "author $who\\ncommitter $who\\n\\nmerge\\n"; } |',
    '  git hash-object -t commit -w --stdin --literally)',
    'git push origin "$merge:refs/heads/sandbox/unfolds"',
  ),
  {
    ...pushAttack('git-foreign-push', 'a push to a repository of somebody else', /^repo\.not-allowed$/),
    attempt: () => [
      script(`cd ${clone}`, `git push https://${site}/${foreignRepository} HEAD:refs/heads/sandbox/here`),
    ],
  },
  {
    name: 'git-foreign-clone',
    area: 'git',
    tried: 'a clone of a repository of somebody else, in several spellings',
    needs: ['git'],
    control: allowedPush,
    attempt: () =>
      [foreignRepository, `${foreignRepository}.git`, `${ownRepository}/../../${foreignRepository}`].map((repository) =>
        script(`rm -rf foreign; git clone https://${site}/${repository} foreign`),
      ),
    judge(facts) {
      if (facts.observed.some(({ exit }) => exit === 0)) return hole('it was cloned');
      if (facts.seen.length > 0) return hole(arrived(facts));
      const records = facts.journal.filter(({ code }) => code === 'repo.not-allowed' || code === 'malformed.path');
      if (records.length < facts.observed.length) return unproven(`${records.length} refusals in the journal`);
      return held(`${records[0]!.code}: ${brief(/remote: (.*)/.exec(facts.observed[0]!.text)?.[1] ?? '')}`);
    },
  },
  {
    name: 'git-dumb-protocol',
    area: 'git',
    tried: 'objects and refs by plain GET, past the judging of fetches and pushes',
    control: answered('the repository is reached', () => [
      {
        do: 'send',
        way: byName(site),
        text: httpRequest(site, `/${ownRepository}.git/info/refs?service=git-upload-pack`),
      },
    ]),
    attempt: () =>
      ['HEAD', 'info/refs', 'objects/info/packs'].map(
        (path): Probe => ({ do: 'send', way: byName(site), text: httpRequest(site, `/${ownRepository}.git/${path}`) }),
      ),
    judge: (facts) => refusedInWords(facts, /^(?:git|repo)\./),
  },
];
