// Whether a source fits its credential: a login must be one that the credential knows how to use, a profile of AWS needs a
// place where requests are signed. And what follows from a source: token endpoints that its clients would call.
import type { CredentialSpec, LoginUse, Placement, PlainSource, SourceSpec } from '../compiled.ts';
import type { Findings } from './findings.ts';

/** What can be signed for; inject/aws-endpoint.ts has the same. */
const awsHost = /\.(?:amazonaws\.com|amazonaws\.com\.cn|api\.aws)$/;

/** The source, filled in from what the credential knows; null: it does not fit, and why has been said. */
export function fittingSource(
  source: SourceSpec,
  placements: readonly Placement[],
  login: LoginUse | null,
  path: readonly string[],
  findings: Findings,
): SourceSpec | null {
  const signs = placements.some(({ injection }) => injection.kind === 'sigv4');
  if (source.kind === 'aws-profile' && !signs) {
    findings.error([...path, 'source'], 'a profile of AWS goes with `inject: {sigv4: true}` only', 'value');
    return null;
  }
  if (signs && ['login', 'oauth', 'google-service-account'].includes(source.kind)) {
    findings.error([...path, 'source'], 'requests to AWS are signed with a pair of keys, not with a token', 'value');
    return null;
  }
  if (signs && !placements.every(({ hosts }) => hosts.every(({ text }) => awsHost.test(text)))) {
    findings.error(
      [...path, 'hosts'],
      'requests are signed for hosts of AWS only: SERVICE.REGION.amazonaws.com',
      'value',
    );
    return null;
  }
  if (source.kind !== 'login') return source;
  if (login === null || !login.agents.includes(source.agent)) {
    const known = login === null || login.agents.length === 0 ? 'no agent' : login.agents.join(' or ');
    findings.error([...path, 'source'], `a login of ${source.agent} is not for this credential (${known} is)`, 'value');
    return null;
  }
  if (source.agent !== 'opencode') return source;
  return { ...source, provider: source.provider ?? login.opencodeProvider };
}

/** What is known about logins of a credential with this source. */
export function loginWith(source: SourceSpec, known: LoginUse | null): CredentialSpec['login'] {
  if (source.kind !== 'oauth') return known;
  const { host, target } = source.tokenUrl;
  const endpoint = { host, path: target.split('?', 1)[0]!, answers: 'generic' as const };
  const base: LoginUse = known ?? {
    injection: null,
    listed: [],
    agents: [],
    opencodeProvider: null,
    tokenEndpoints: [],
  };
  return { ...base, tokenEndpoints: [...base.tokenEndpoints, endpoint] };
}

/** Every plain source in it: of a key, a client's secret, a passphrase. */
export function plainSourcesIn(source: SourceSpec): PlainSource[] {
  switch (source.kind) {
    case 'github-app':
      return plainSourcesIn(source.privateKey);
    case 'google-service-account':
      return plainSourcesIn(source.key);
    case 'oauth':
      return [source.clientSecret, source.refreshToken].flatMap((part) => (part === null ? [] : plainSourcesIn(part)));
    case 'age':
      return [source.identity, source.passphrase].flatMap((part) => (part === null ? [] : plainSourcesIn(part)));
    case 'login':
    case 'aws-profile':
    case 'registry':
      return [];
    default:
      return [source];
  }
}
