// Tunnels: who asks for one (CONNECT) and what goes through undecrypted. A host that is not allowed is not refused at
// CONNECT but inside the TLS, where clients show the reason; only what has no inside is refused here.
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { AllowRule, CompiledPolicy } from '../../policy/compiled.ts';
import { hostNotAllowed, portNotAllowed } from './allow-rules.ts';
import { findTcpRule, permitTcp, tcpNotAllowed } from './tcp/decide-tcp.ts';

/**
 * The rule that says the host and port are forwarded undecrypted. A rule for the exact host decides over a wildcard:
 * `*.example.com` as a tunnel must not undo the checks that a rule for `api.example.com` asks for.
 */
function findTunnelRule(rules: readonly AllowRule[], { host, port }: CanonicalRequest): AllowRule | undefined {
  const there = rules.filter((rule) => rule.ports.includes(port));
  const exact = there.filter((rule) => rule.host.text === host);
  return (exact.length > 0 ? exact : there).find((rule) => rule.tunnel);
}

/** May this CONNECT be opened, and is it to be decrypted. */
export function decideConnect(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Permission {
  const rules = policy.rulesFor(canonical.host);
  const tunnel = findTunnelRule(rules, canonical);
  if (tunnel !== undefined)
    return { rule: tunnel.name, tunnel: true, credential: null, git: null, github: null, repository: null };
  const plain = findTcpRule(policy, canonical);
  if (plain !== undefined) return permitTcp(plain);
  const named = rules.find((rule) => rule.ports.includes(canonical.port));
  if (named === undefined && canonical.port !== 443 && canonical.port !== 80) {
    if (policy.tcpFor(canonical.host).length > 0) throw tcpNotAllowed(policy, sandbox, canonical);
    throw rules.length === 0 ? hostNotAllowed(policy, sandbox, canonical) : portNotAllowed(rules, canonical);
  }
  return {
    rule: named?.name ?? 'built-in: judged inside the connection',
    tunnel: false,
    credential: null,
    git: null,
    github: null,
    repository: null,
  };
}

/** May these bytes pass undecrypted: only under a rule that says so, and never with a credential. */
export function decideTunnel(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Permission {
  const rules = policy.rulesFor(canonical.host);
  const tunnel = findTunnelRule(rules, canonical);
  if (tunnel !== undefined) {
    const { name: rule, ask } = tunnel;
    const permission: Permission = { rule, tunnel: true, credential: null, git: null, github: null, repository: null };
    return ask ? { ...permission, askedBy: rule } : permission;
  }
  if (rules.length === 0) throw hostNotAllowed(policy, sandbox, canonical);
  if (!rules.some((rule) => rule.ports.includes(canonical.port))) throw portNotAllowed(rules, canonical);
  const names = rules.map((rule) => rule.name).join(', ');
  throw new Refusal('domain.not-allowed', `no rule lets a connection to ${canonical.host} pass undecrypted`, {
    rule: names,
    hint: `Only a rule with tunnel: true forwards without decrypting; ${names} does not have it.`,
  });
}

/** The name in the ClientHello must be the name that was asked for, in the clear. // Guards: threats.md T5 */
export function refuseOtherName(canonical: CanonicalRequest, sni: string | null, hiddenName: boolean): void {
  if (hiddenName) {
    throw new Refusal(
      'tunnel.hidden-name',
      `the TLS handshake with ${canonical.host} hides the real host name (Encrypted Client Hello)`,
      {
        rule: 'built-in: tunnels show their name',
        hint: 'Switch Encrypted Client Hello off in the client.',
      },
    );
  }
  if (sni?.toLowerCase() === canonical.host) return;
  const said = sni === null ? 'names no host (SNI)' : `is for ${JSON.stringify(sni.slice(0, 255))}`;
  throw new Refusal('tunnel.sni', `CONNECT asked for ${canonical.host}, but the handshake inside ${said}`, {
    rule: 'built-in: CONNECT = SNI',
    hint: 'Use a client that sends the host name in its TLS handshake (SNI).',
  });
}
