// What a request to GitHub would do, in one word: the same word for every spelling of it (REST, GraphQL, uploads, the web
// site). The tables under config/github give every known operation its effect; the policy allows effects, never paths.

/** Every effect, and what it means to the person who writes a policy. */
export const githubEffects = {
  read: 'read a repository of the sandbox: files, issues, pull requests, checks, logs',
  'read-public': 'read what names no repository and is public; goes out without a credential',
  identity: 'ask who the credential belongs to',
  'read-account': 'read across repositories: searches, notifications, lists of an account or organisation',
  'read-sensitive': 'read security alerts, traffic, collaborators, or the names of secrets and hooks',
  issue: 'create, edit, close, label and comment on issues; react',
  pull: 'open, edit, close and comment on pull requests, ask for reviewers',
  review: 'review a pull request without approving it',
  approve: 'approve a pull request, or dismiss a review',
  merge: 'merge a pull request, now or later',
  push: 'write a branch or a tag: judged by the same rules as a push by git',
  'git-object': 'store blobs, trees, commits and tag objects that no ref names yet',
  release: 'make, change or delete releases and their assets',
  'create-repository': 'make repositories: new ones, forks, from templates',
  'delete-repository': 'delete, transfer or archive a repository',
  settings: 'change settings of a repository: pages, topics, environments, autolinks',
  protection: 'change branch protection and rulesets of a repository',
  collaborators: 'change who has access to a repository: collaborators, teams, invitations',
  secrets: 'change secrets and variables of a repository',
  keys: 'change the deploy keys of a repository',
  hooks: 'change the webhooks of a repository',
  workflow: 'change workflows and runners: enable, disable, permissions, caches, artifacts',
  dispatch: 'start, repeat or cancel workflow runs; send dispatches',
  checks: 'write check runs and commit statuses',
  deployment: 'make deployments and their statuses',
  package: 'change packages',
  gist: 'read or write gists',
  discussion: 'write discussions',
  project: 'write projects',
  security: 'change security alerts, advisories and scanning',
  agent: 'call an agent (@copilot, @claude …) in a text, give it an issue, a review or a task',
  codespace: 'use codespaces and Copilot spaces of the account, whatever their repository',
  migration: 'import and export repositories',
  organisation: 'administer organisations, teams and enterprises, their secrets and hooks included',
  user: 'administer the account: profile, keys, secrets, stars, follows, notifications, invitations',
  app: 'administer apps and their tokens',
} as const;

export type GithubEffect = keyof typeof githubEffects;

/** What an agent needs to work on its repositories, and no more. */
export const defaultEffects: readonly GithubEffect[] = [
  'read',
  'read-public',
  'identity',
  'issue',
  'pull',
  'review',
  'push',
  'git-object',
];

/**
 * What may be done without naming a repository: it is of an account or an organisation, or makes what is not there yet. Every
 * other effect is allowed for the repositories of a sandbox, so that a call which names none is not covered by it.
 */
export const effectsWithoutRepository: ReadonlySet<GithubEffect> = new Set<GithubEffect>([
  'read-public',
  'identity',
  'read-account',
  'user',
  'organisation',
  'app',
  'gist',
  'create-repository',
  'project',
  'migration',
  'package',
  'codespace',
]);
