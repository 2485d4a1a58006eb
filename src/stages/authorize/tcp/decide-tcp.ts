// May this sandbox open a plain connection to this host and port: only under an entry with `tcp`, never with a credential, and
// never to a host whose requests are judged. Pure: the path, CONNECT, `check` and `policy test` ask the same.
// Guards: threats.md T109
import type { CanonicalRequest, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy, TcpRule } from '../../../policy/compiled.ts';
import { hostNotAllowed } from '../allow-rules.ts';

/** The entry that lets it through; undefined: none does. An entry for the exact host decides over a wildcard. */
export function findTcpRule(policy: CompiledPolicy, { host, port }: CanonicalRequest): TcpRule | undefined {
  const there = policy.tcpFor(host).filter((rule) => rule.ports.includes(port) && mayLead(policy, rule, host));
  // Where requests of this very host are read on the port, a wildcard does not undo that.
  const isRead = policy.rulesFor(host).some((rule) => rule.ports.includes(port));
  return there.find((rule) => rule.host.text === host || !isRead);
}

/** What a wildcard covers by the way is not what a credential or a push is judged for. */
function mayLead(policy: CompiledPolicy, { host: pattern }: TcpRule, host: string): boolean {
  if (policy.githubHosts.includes(host) || policy.gitHosts.has(host)) return false;
  return pattern.text === host || policy.credentialsFor(host).length === 0;
}

export function permitTcp({ name: rule }: Pick<TcpRule, 'name'>): Permission {
  return { rule, tunnel: false, tcp: true, credential: null, git: null, github: null, repository: null };
}

export function decideTcp(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Permission {
  const rule = findTcpRule(policy, canonical);
  if (rule !== undefined) return permitTcp(rule);
  throw tcpNotAllowed(policy, sandbox, canonical);
}

export function tcpNotAllowed(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Refusal {
  const { host, port } = canonical;
  const rules = policy.tcpFor(host);
  const hint = toAllowTcp(policy, canonical);
  if (policy.rulesFor(host).length === 0 && rules.length === 0) {
    const { code, message, rule } = hostNotAllowed(policy, sandbox, canonical);
    return new Refusal(code, message, { rule, hint });
  }
  return new Refusal('target.port', `no entry allows plain TCP to port ${port} of ${host}`, {
    rule: rules.map(({ name }) => name).join(', ') || 'allow (no entry with tcp covers the host)',
    hint,
  });
}

/** A request to a host that may only be reached without being read. */
export function onlyTcp(rules: readonly TcpRule[], { host }: CanonicalRequest): Refusal {
  const ports = [...new Set(rules.flatMap((rule) => rule.ports))].join(', ');
  return new Refusal('domain.not-allowed', `${host} may only be reached by plain TCP, on port ${ports}`, {
    rule: rules.map(({ name }) => name).join(', '),
    hint: `To allow requests there too, add to sallyport.yaml under allow:\n  - host: ${host}`,
  });
}

/** What is said here must hold: a policy that refuses such an entry has another way, or none. */
function toAllowTcp(policy: CompiledPolicy, { host, port }: CanonicalRequest): string {
  if (policy.githubHosts.includes(host) || policy.gitHosts.has(host)) {
    return `${host} serves git: it is reached over https, where pushes are judged, and not by plain TCP.`;
  }
  const reading = policy.rulesFor(host).find((rule) => rule.ports.includes(port));
  if (port === 443 || port === 80 || reading !== undefined) {
    return `Port ${port} of ${host} is TLS or HTTP and is read: use https, or tunnel: true for pinned certificates.`;
  }
  const near = policy.tcpFor(host).find((rule) => rule.host.text === host);
  if (near !== undefined) return `Write tcp: [${[...near.ports, port].join(', ')}] in ${near.name} to allow it.`;
  return `To allow it, add to sallyport.yaml under allow:\n  - host: ${host}\n    tcp: [${port}]`;
}
