// Which permissions of a GitHub App the allowed effects can use: a token is asked for no more than these. An effect that
// is not here needs none beside reading, or is of an account and not of a repository.
import type { GithubEffect } from '../path/github-effects.ts';
import type { AppPermissions } from './compiled.ts';

const reading: AppPermissions = {
  metadata: 'read',
  contents: 'read',
  issues: 'read',
  pull_requests: 'read',
  actions: 'read',
  checks: 'read',
  statuses: 'read',
};

const writing: Partial<Record<GithubEffect, readonly string[]>> = {
  issue: ['issues'],
  pull: ['pull_requests'],
  review: ['pull_requests'],
  approve: ['pull_requests'],
  merge: ['contents', 'pull_requests'],
  push: ['contents'],
  'git-object': ['contents'],
  release: ['contents'],
  checks: ['checks', 'statuses'],
  dispatch: ['actions'],
  workflow: ['actions'],
  deployment: ['deployments'],
  settings: ['administration'],
  protection: ['administration'],
  collaborators: ['administration'],
  'delete-repository': ['administration'],
  secrets: ['secrets'],
  hooks: ['repository_hooks'],
  package: ['packages'],
  security: ['security_events'],
  discussion: ['discussions'],
};

export function permissionsFor(effects: Iterable<GithubEffect>): AppPermissions {
  const needed: Record<string, string> = { ...reading };
  for (const effect of effects) for (const name of writing[effect] ?? []) needed[name] = 'write';
  return needed;
}
