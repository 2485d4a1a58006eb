// What is wrong, or worth saying, about rules that are each right by themselves: entries of `allow` that contradict each other,
// that can never do what they say, credentials that nothing leads to. Never decides about a request.
import type { GithubEffect } from '../path/github-effects.ts';
import type { AllowRule, BlockedApiPattern, CredentialSpec, HostPattern, TcpRule } from './compiled.ts';
import type { Findings } from './schema/findings.ts';

/** The first entry that covers a request decides: one that never comes first never asks, and somebody counts on it. */
export function checkAsks(rules: readonly AllowRule[], findings: Findings): void {
  for (const [at, rule] of rules.entries()) {
    if (!rule.ask) continue;
    const before = rules.slice(0, at).find((other) => !other.ask && coversAllOf(other, rule));
    if (!before) continue;
    const index = Number(/^allow\[(\d+)\]/.exec(rule.name)?.[1] ?? 0);
    const message = `${before.name} lets all of this pass before anybody is asked: put this entry before it`;
    findings.error(['allow', index], message);
  }
}

function coversAllOf(wide: AllowRule, narrow: AllowRule): boolean {
  const within = <T>(all: readonly T[] | null, some: readonly T[] | null): boolean =>
    all === null || some?.every((one) => all.includes(one)) === true;
  const texts = (rule: AllowRule): string[] | null => rule.paths?.map(({ text }) => text) ?? null;
  return (
    wide.host.text === narrow.host.text &&
    wide.tunnel === narrow.tunnel &&
    (wide.plainHttp || !narrow.plainHttp) &&
    within(wide.ports, narrow.ports) &&
    within(wide.methods && [...wide.methods], narrow.methods && [...narrow.methods]) &&
    within(texts(wide), texts(narrow))
  );
}

/** One host cannot be both decrypted and not: which of the two would win is not a thing to guess. */
export function checkTunnels(rules: readonly AllowRule[], findings: Findings): void {
  for (const rule of rules) {
    if (!rule.tunnel) continue;
    const other = rules.find(
      (candidate) =>
        !candidate.tunnel &&
        candidate.host.text === rule.host.text &&
        candidate.ports.some((port) => rule.ports.includes(port)),
    );
    if (!other) continue;
    const index = Number(/^allow\[(\d+)\]/.exec(rule.name)?.[1] ?? 0);
    findings.error(
      ['allow', index],
      `${rule.host.text} is a tunnel here and decrypted by ${other.name}: keep one of the two`,
    );
  }
}

/**
 * A port of a host is read, or it is not: a plain connection beside rules for requests would be the way around them. And a push
 * that nobody reads is a push that nobody judges.
 */
export function checkPlainConnections(
  plain: readonly TcpRule[],
  rules: readonly AllowRule[],
  gitHosts: readonly string[],
  findings: Findings,
): void {
  for (const rule of plain) {
    const index = Number(/^allow\[(\d+)\]/.exec(rule.name)?.[1] ?? 0);
    const path = ['allow', index, 'tcp'];
    const git = gitHosts.find((host) => rule.host.text === host);
    if (git !== undefined) {
      findings.error(path, `${git} serves git: pushes in a plain connection would not be judged`);
      continue;
    }
    const other = rules.find(
      (one) => overlap(one.host, rule.host) && one.ports.some((port) => rule.ports.includes(port)),
    );
    if (other === undefined) continue;
    const port = other.ports.find((one) => rule.ports.includes(one));
    findings.error(path, `port ${port} of ${rule.host.text} is read as HTTP by ${other.name}: keep one of the two`);
  }
}

function overlap(one: HostPattern, other: HostPattern): boolean {
  const example = ({ text }: HostPattern): string => text.replace(/^\*\./, 'any.');
  return one.text === other.text || one.covers(example(other)) || other.covers(example(one));
}

export function warnAboutUnreachable(
  credentials: ReadonlyMap<string, CredentialSpec>,
  rules: readonly AllowRule[],
  named: Readonly<Record<'github' | 'git', readonly string[]>>,
  findings: Findings,
): void {
  const reaches = (host: string): AllowRule | undefined =>
    rules.find((rule) => rule.host.text === host || rule.host.covers(host.replace(/^\*\./, 'any.')));
  for (const spec of credentials.values()) {
    const hosts = spec.placements.flatMap((placement) => placement.hosts);
    // A wildcard of the credential is reached by any rule within it.
    const within = (host: HostPattern) => rules.find((rule) => host.covers(rule.host.text.replace(/^\*\./, 'any.')));
    const reached = hosts.map((host) => reaches(host.text) ?? within(host)).filter((rule) => rule !== undefined);
    if (reached.length === 0) {
      findings.warn(
        `credential ${spec.name} is never used: no entry of \`allow\` covers ${hosts[0]?.text ?? 'a host of it'}`,
      );
    } else if (reached.every((rule) => rule.tunnel)) {
      findings.warn(`credential ${spec.name} is never used: its hosts are tunnels, which are not decrypted`);
    }
  }
  for (const [section, hosts] of Object.entries(named)) {
    for (const host of hosts) {
      if (!reaches(host)) findings.warn(`${section}.hosts names ${host}, but no entry of \`allow\` covers it`);
    }
  }
}

/** Calls that most people mean by these effects. */
const usualCalls: Partial<Record<GithubEffect, readonly [method: string, path: string]>> = {
  merge: ['PUT', '/repos/o/r/pulls/1/merge'],
  release: ['POST', '/repos/o/r/releases'],
  'delete-repository': ['DELETE', '/repos/o/r'],
};

/** A block wins: with the pattern still in place, the question that `ask` promises would never come. */
export function warnAboutBlockedAsks(
  asks: Readonly<Record<string, ReadonlySet<GithubEffect>>>,
  blocked: ReadonlyMap<string, readonly BlockedApiPattern[]>,
  findings: Findings,
): void {
  for (const [mode, effects] of Object.entries(asks)) {
    for (const effect of effects) {
      const [method, path] = usualCalls[effect] ?? ['', ''];
      const pattern = blocked.get(method)?.find((one) => one.matches(path));
      if (!pattern) continue;
      findings.warn(
        `github.effects.${mode}.ask names ${effect}, but ${pattern.rule} refuses it before anybody is asked: write \`policy.blocked_api_patterns\` without it`,
      );
    }
  }
}
