// Which host and credential the gateway uses when it asks its own questions about an API call: the git server of the
// repository (the same host, or its site) and GitHub's API.
import type { Identified, Permission } from '../../../path/flow.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { chooseCredential } from '../credential-choice.ts';

export function gitSideOf(
  policy: CompiledPolicy,
  flow: Identified,
  repository: string,
): { readonly gitFlow: Identified; readonly gitPermission: Permission } {
  const path = `/${repository}.git/git-upload-pack`;
  const canonical = { ...flow.canonical, host: siteOf(policy, flow.canonical.host), path, rawPath: path, query: null };
  const gitPermission: Permission = {
    rule: 'built-in: a write is judged by what it would change',
    tunnel: false,
    credential: chooseCredential(policy, flow.sandbox, canonical),
    git: { repository, rawRepositoryPath: `/${repository}.git`, operation: 'upload-pack', ticket: null },
    github: null,
    repository,
  };
  return { gitFlow: { ...flow, canonical }, gitPermission };
}

/** An app's token is for repositories: a question that names none is asked with that of one of the sandbox's own. */
export function askingFor({ sandbox }: Identified, permission: Permission): Permission {
  const own = sandbox.repos.find((repository) => !repository.endsWith('/*')) ?? null;
  return { ...permission, repository: permission.repository ?? own };
}

/** api.github.com belongs to github.com; an Enterprise host is its own site, or has a name before it. */
function siteOf(policy: CompiledPolicy, host: string): string {
  return policy.githubHosts.find((home) => host === home || host.endsWith(`.${home}`)) ?? host;
}
