// One spelling for a repository: `owner/name`, lower case, without `.git`. Registrations and requests are compared
// in this form and no other, so the rule lives here once. Never accepts a name that GitHub itself would not.

// Letters, digits and hyphens; enterprise-managed accounts add one underscore. 39 is GitHub's own limit.
const ownerName = /^[a-z0-9][a-z0-9_-]{0,38}$/;
const repositoryName = /^[a-z0-9._-]{1,100}$/;

/** Null when the two are not the name of a repository. */
export function canonicalRepository(owner: string, name: string): string | null {
  const canonicalOwner = owner.toLowerCase();
  const lower = name.toLowerCase();
  const bare = lower.endsWith('.git') ? lower.slice(0, -4) : lower;
  if (!ownerName.test(canonicalOwner) || !repositoryName.test(bare)) return null;
  // `x.git.git` would be read as `x.git` by one server and as `x` by another.
  if (bare === '.' || bare === '..' || bare.endsWith('.git')) return null;
  return `${canonicalOwner}/${bare}`;
}

/** An entry of `repos`: `owner/name`, or `owner/*` for every repository of an owner. Null when it is neither. */
export function canonicalRepositoryPattern(text: string): string | null {
  const slash = text.indexOf('/');
  if (slash < 0) return null;
  const owner = text.slice(0, slash);
  const name = text.slice(slash + 1);
  if (name !== '*') return canonicalRepository(owner, name);
  const canonicalOwner = owner.toLowerCase();
  return ownerName.test(canonicalOwner) ? `${canonicalOwner}/*` : null;
}

/** `patterns` and `repository` in canonical form. */
export function coversRepository(patterns: readonly string[], repository: string): boolean {
  if (patterns.includes(repository)) return true;
  return patterns.includes(`${repository.slice(0, repository.indexOf('/'))}/*`);
}
