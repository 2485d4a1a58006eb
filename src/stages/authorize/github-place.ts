// What part of GitHub a host and path are: its API, its site (pages and git), or a host that only serves content.
// Works the same for github.com and for the approved Enterprise hosts, which keep their API under /api/ of the site.
import type { CanonicalRequest } from '../../path/flow.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';

export interface GithubPlace {
  readonly part: 'api' | 'site' | 'content';
  /** What stands before the API's own path, e.g. `/api/v3` on an Enterprise host; empty elsewhere. */
  readonly prefix: string;
}

const api: GithubPlace = { part: 'api', prefix: '' };
const site: GithubPlace = { part: 'site', prefix: '' };
const content: GithubPlace = { part: 'content', prefix: '' };
const enterpriseApi: readonly GithubPlace[] = ['/api/v3', '/api/uploads', '/api'].map((prefix) => ({
  part: 'api',
  prefix,
}));

/** Null: not GitHub at all. */
export function githubPlace(policy: CompiledPolicy, { host, path }: CanonicalRequest): GithubPlace | null {
  for (const home of policy.githubHosts) {
    if (host === home) return home === 'github.com' ? site : enterprisePlace(path);
    if (host.length > home.length && host.endsWith(home) && host.charCodeAt(host.length - home.length - 1) === 0x2e) {
      const label = host.slice(0, host.length - home.length - 1);
      if (label === 'www') return site;
      return label === 'api' || label === 'uploads' ? api : content;
    }
    if (home === 'github.com' && host.endsWith('.githubusercontent.com')) return content;
  }
  return null;
}

function enterprisePlace(path: string): GithubPlace {
  const lower = path.toLowerCase();
  return enterpriseApi.find(({ prefix }) => lower === prefix || lower.startsWith(`${prefix}/`)) ?? site;
}
