// The last looks before a credential goes in: that it belongs to the request, that it can stand where it goes, and what is said
// where there is none.
import type { Authorized } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { CredentialSpec, Injection } from '../../policy/compiled.ts';
import type { CredentialPlan } from './host-plan.ts';

/** Where the credential goes for this request. Authorize has decided all this; a disagreement forwards nothing. */
export function checkedInjection(flow: Authorized, { spec, placements }: CredentialPlan): Injection {
  const { canonical, sandbox } = flow;
  if (canonical.scheme !== 'https') throw new Error(`credential ${spec.name} chosen for a plain http request`);
  if (sandbox.credentials !== null && !sandbox.credentials.includes(spec.name)) {
    throw new Error(`credential ${spec.name} chosen for ${sandbox.id}, which is not registered for it`);
  }
  for (const { paths, injection } of placements) {
    if (paths === null || paths.some((pattern) => pattern.covers(canonical.path))) return injection;
  }
  throw new Error(`credential ${spec.name} chosen for a path of ${canonical.host} that it does not belong to`);
}

/** The last look before the wire. Sources refuse control characters; other letters have no place in a header. */
export function headerSafe(name: string, value: string): string {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code >= 0x20 && code <= 0x7e) continue;
    throw new Refusal(
      'credential.unreadable',
      `the credential ${name} holds a character that cannot go into a header: the operator of the gateway must replace it`,
      { rule: `credentials.${name}` },
    );
  }
  return value;
}

export function missing(name: string, spec: CredentialSpec | null): Refusal {
  const act =
    spec === null
      ? `it is no longer in the configuration: the operator of the gateway must add credentials.${name}`
      : spec.source.kind === 'memory'
        ? `the operator of the gateway must run \`sallyport secret set ${name}\``
        : spec.source.kind === 'github-app'
          ? 'a token of a GitHub App is made for the repository that a request is about, and this one is about none'
          : `the operator of the gateway must give a value to credentials.${name}.source (${spec.source.kind})`;
  return new Refusal('credential.missing', `the credential ${name} is not set: ${act}`, {
    rule: `credentials.${name}`,
  });
}
