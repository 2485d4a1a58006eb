// Which hosts a policy covers: those it allows, asks about or gives an address, GitHub, hosts of git, and every place a
// credential goes to or comes from. Learning lets none of them pass and proposes no wildcard that reaches one, because a
// proposal must not widen a rule that a person wrote.
import { insideHost } from '../../path/inside-host.ts';
import type { CompiledPolicy, SourceSpec } from '../compiled.ts';

export interface KnownHosts {
  /** Whether the policy names this host, by itself or by a wildcard other than `*`. */
  names(host: string): boolean;
  /** Whether a wildcard for all below `domain` would reach a host that the policy names. */
  reachedBelow(domain: string): boolean;
}

/** GitHub's own, whatever is configured: `api.github.com` must not become readable because nobody named it. */
const githubContent = '*.githubusercontent.com';

export function knownHosts(policy: CompiledPolicy): KnownHosts {
  const exact = new Set<string>([insideHost, 'githubusercontent.com']);
  const suffixes = new Set<string>();
  const note = (text: string): void => {
    if (text === '*') return;
    if (text.startsWith('*.')) suffixes.add(text.slice(1));
    else exact.add(text);
  };
  note(githubContent);
  for (const home of policy.githubHosts) {
    note(home);
    note(`*.${home}`);
  }
  for (const { host } of [...policy.allow, ...policy.tcp]) note(host.text);
  for (const host of policy.gitHosts) note(host);
  // Where such a name leads, only the operator knows: mostly inside, and no address there is looked at.
  for (const { host } of policy.upstream.resolve) note(host.text);
  for (const { placements, login, source } of policy.credentials.values()) {
    for (const { hosts } of placements) for (const { text } of hosts) note(text);
    for (const { host } of login?.tokenEndpoints ?? []) note(host);
    for (const host of hostsOf(source)) note(host);
  }
  return {
    names(host) {
      if (exact.has(host)) return true;
      for (let dot = host.indexOf('.', 1); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        if (suffixes.has(host.slice(dot))) return true;
      }
      return false;
    },
    reachedBelow(domain) {
      const below = `.${domain}`;
      const reaches = (text: string): boolean => text.endsWith(below);
      return [...exact].some(reaches) || [...suffixes].some((suffix) => reaches(suffix) || below.endsWith(suffix));
    },
  };
}

/** Where a credential is fetched from. */
function hostsOf(source: SourceSpec): readonly string[] {
  if (source.kind === 'oauth') return [source.tokenUrl.host];
  if (source.kind === 'github-app') return [source.api.host];
  if (source.kind === 'google-service-account') return ['oauth2.googleapis.com'];
  return [];
}
