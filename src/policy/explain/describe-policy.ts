// The policy in a few sentences, for `sallyport up` to print. Names hosts, presets and credentials; never a value.
import type { CompiledPolicy, CredentialSpec, SourceSpec } from '../compiled.ts';

/** `isSet` answers whether the value of a credential is at hand. */
export function describePolicy(policy: CompiledPolicy, isSet: (credential: string) => boolean): string[] {
  const hosts = new Set(policy.allow.map((rule) => rule.host.text));
  const tunnels = new Set(policy.allow.filter((rule) => rule.tunnel).map((rule) => rule.host.text));
  const presets = new Set(policy.allow.flatMap((rule) => /\(preset (.+)\)$/.exec(rule.name)?.[1] ?? []));
  const lines = [`policy: ${policy.origin}`];
  const fromPresets = presets.size === 0 ? '' : `, presets ${[...presets].join(', ')}`;
  const undecrypted = tunnels.size === 0 ? '' : `, ${tunnels.size} of them as tunnels`;
  lines.push(`allowed: ${hosts.size} ${hosts.size === 1 ? 'host' : 'hosts'}${undecrypted}${fromPresets}`);
  for (const spec of policy.credentials.values()) lines.push(describeCredential(spec, isSet(spec.name)));
  return lines;
}

/** What kind of place a value comes from. */
export function sourceInWords({ kind }: SourceSpec): string {
  const from = {
    file: 'a file',
    command: 'a command',
    environment: 'the environment',
    memory: 'memory',
    'github-app': 'a GitHub App',
    age: 'an encrypted file',
    keyring: 'the keyring',
    login: 'the login of an agent',
    oauth: 'OAuth',
    'google-service-account': 'a service account',
    'aws-profile': 'an AWS profile',
  };
  return from[kind];
}

function describeCredential(spec: CredentialSpec, set: boolean): string {
  const from = sourceInWords(spec.source);
  if (set) return `credential ${spec.name}: set, from ${from}`;
  const fix = spec.source.kind === 'memory' ? `run \`sallyport secret set ${spec.name}\`` : `its source is ${from}`;
  const effect = spec.anonymous ? 'requests go without it' : 'requests that need it are refused';
  return `credential ${spec.name}: not set (${fix}); ${effect}`;
}
