// The policy in a few sentences, for `sallyport up` to print. Names hosts, presets and credentials; never a value.
import type { CompiledPolicy, CredentialSpec } from './compiled.ts';

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

function describeCredential(spec: CredentialSpec, set: boolean): string {
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
  if (set) return `credential ${spec.name}: set, from ${from[spec.source.kind]}`;
  const fix =
    spec.source.kind === 'memory'
      ? `run \`sallyport secret set ${spec.name}\``
      : `its source is ${from[spec.source.kind]}`;
  const effect = spec.anonymous ? 'requests go without it' : 'requests that need it are refused';
  return `credential ${spec.name}: not set (${fix}); ${effect}`;
}
