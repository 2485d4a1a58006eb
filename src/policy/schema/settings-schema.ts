// The sections of the document that are plain settings (listen, dns, limits, audit, policy, github, upstream), their
// bounds and their defaults. Never reads a file.
import { isIP } from 'node:net';
import * as z from 'zod';
import { type GithubEffect, githubEffects } from '../../path/github-effects.ts';
import { defaultBlockedApiPatterns, parseBlockedApiPattern } from '../blocked-api.ts';
import type { Parsed } from './parsed.ts';
import { hostName, methodName, oneOrMany, strictKeys, textRead, wholeNumber } from './schema.ts';

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

function parsePort(text: string, lowest: number): number | null {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port >= lowest && port <= 65535 ? port : null;
}

/** `host:port` to listen on; port 0 lets the system choose. */
export function parseListenAddress(text: string): Parsed<HostAndPort> {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d+)$/.exec(text);
  const port = match ? parsePort(match[3]!, 0) : null;
  if (!match || port === null) return { problem: 'write an address and a port such as 127.0.0.1:8080 or "[::1]:8080"' };
  const host = match[1] ?? match[2]!;
  const valid =
    match[1] !== undefined ? isAddressOrSubnet(host, 6) : isAddressOrSubnet(host, 4) || host === 'localhost';
  return valid ? { value: { host, port } } : { problem: 'write an address of this machine such as 127.0.0.1:8080' };
}

/** An address of this machine, or the subnet (`172.30.0.0/24`) in which it has one. */
function isAddressOrSubnet(text: string, family: 4 | 6): boolean {
  const [address = '', length, more] = text.split('/');
  if (isIP(address) !== family || more !== undefined) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128));
}

/** Where the transparent door listens: an address or a subnet, without a port. */
export function parseGatewayAddress(text: string): Parsed<string> {
  if (isAddressOrSubnet(text, 4) || isAddressOrSubnet(text, 6)) return { value: text };
  return {
    problem: 'write an address of this machine such as 172.30.0.2, or the subnet it is in such as 172.30.0.0/24',
  };
}

export interface ResolveTarget {
  readonly address: string;
  readonly port: number | null;
}

/** `ip`, `ip:port`, `[v6]:port` or a bare IPv6 address. */
export function parseResolveTarget(text: string): Parsed<ResolveTarget> {
  if (isIP(text) !== 0) return { value: { address: text, port: null } };
  const match = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d+))?$/.exec(text);
  const address = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? null : parsePort(match[3], 1);
  if (!address || isIP(address) !== (match?.[1] ? 6 : 4) || (match?.[3] !== undefined && port === null)) {
    return { problem: 'write an address such as 127.0.0.1, 127.0.0.1:9443 or "[::1]:9443"' };
  }
  return { value: { address, port } };
}

const listenAddress = textRead(parseListenAddress, 'an address such as 127.0.0.1:8080');
const gatewayAddress = textRead(parseGatewayAddress, 'an address such as 172.30.0.2');
/** For people at this machine: whoever is elsewhere forwards a port to it. */
const loopbackAddress = textRead((text) => {
  const parsed = parseListenAddress(text);
  if ('problem' in parsed || /^(?:127\..*|::1|localhost)$/.test(parsed.value.host)) return parsed;
  return { problem: 'the page is served on loopback alone: write an address such as 127.0.0.1:8642' };
}, 'an address such as 127.0.0.1:8642');

export const listenSection = strictKeys({
  proxy: oneOrMany(listenAddress).optional(),
  mtls: oneOrMany(listenAddress).default([]),
  gateway: oneOrMany(gatewayAddress).default([]),
  dashboard: loopbackAddress.optional(),
  /** Processes that serve the doors. */
  workers: wholeNumber(1, 256).default(1),
});

export const defaultProxyDoors: readonly HostAndPort[] = [{ host: '127.0.0.1', port: 8080 }];

/** Docker runs the sandboxes: they are looked up there, and labels may register them. */
export const dockerSection = strictKeys({
  socket: z
    .string({ error: 'write the path of the Docker socket' })
    .startsWith('/', { error: 'write an absolute path such as /var/run/docker.sock' })
    .default('/var/run/docker.sock'),
  register_labelled: z.boolean({ error: 'write true or false' }).default(false),
  network: z
    .string({ error: 'write the name of a Docker network' })
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, { error: 'write the name of a Docker network' })
    .optional(),
});

export const auditSection = strictKeys({
  max_file_bytes: wholeNumber(4096, Number.MAX_SAFE_INTEGER).default(67_108_864),
  keep_files: wholeNumber(1, 100_000).default(20),
  keep_days: wholeNumber(0, 36_500).default(7),
  max_bytes: wholeNumber(4096, Number.MAX_SAFE_INTEGER).default(17_179_869_184),
  sandbox_bytes_per_day: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(134_217_728),
});

/** How credentials are kept where they belong. */
export const secretsSection = strictKeys({
  scrub: z.boolean({ error: 'write true, or false to pass answers on unsearched' }).default(true),
  misplaced: z
    .enum(['refuse', 'revoke'], { error: 'write refuse, or revoke to unregister the sandbox as well' })
    .default('refuse'),
  conversations: z
    .enum(['record', 'refuse'], { error: 'write record, or refuse to keep placeholders out of conversations too' })
    .default('record'),
  searched_body_bytes: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(16 * 1024 ** 2),
  registry_logins: z
    .boolean({ error: 'write true, or false to leave the logins of your package managers alone' })
    .default(true),
  injected_body_bytes: wholeNumber(1, 32 * 1024 ** 2).default(1024 ** 2),
});

const globText = z
  .string({ error: 'write a text' })
  .min(1, { error: 'the text is empty: write a name or a pattern' })
  .regex(/^[^\s\p{Cc}]+$/u, { error: 'no spaces and no control characters' });
const globList = z.array(globText, { error: 'write a list such as [main, master]' });
const yesOrNo = z.boolean({ error: 'write true or false' });

// The rule's name needs its place in the list, which the compiler knows.
const blockedApiPattern = textRead((text) => parseBlockedApiPattern(text, ''), 'a pattern such as "^/repos/"');

export const policySection = strictKeys({
  blocked_api_patterns: z
    .record(methodName, z.array(blockedApiPattern, { error: 'write a list of patterns' }), {
      error: 'write a map of methods and lists such as DELETE: ["^/repos/[^/]+/[^/]+$"]',
    })
    .prefault(() => ({ ...defaultBlockedApiPatterns })),
  protected_branches: globList.default(['main', 'master']),
  allow_force_push: yesOrNo.default(false),
  allow_branch_deletion: yesOrNo.default(false),
  protected_paths: globList.default(['.github/workflows/**']),
});

const effectNames = Object.keys(githubEffects) as GithubEffect[];
const effectList = z
  .array(z.enum(effectNames, { error: `write effects: ${effectNames.join(', ')}` }), {
    error: 'write a list of effects such as [release]',
  })
  .default([]);
const effectChange = strictKeys({ allow: effectList, ask: effectList, block: effectList }).prefault({});

export const githubSection = strictKeys({
  hosts: z.array(hostName, { error: 'write a list of host names' }).default([]),
  effects: strictKeys({ bot: effectChange, user: effectChange }).prefault({}),
});

/** Of requests that wait for a person. */
export const approvalsSection = strictKeys({
  answer_within_seconds: wholeNumber(1, 3600).default(120),
  held: wholeNumber(1, 10_000).default(500),
  held_per_sandbox: wholeNumber(1, 10_000).default(100),
});

/** Of the doors that belong to one sandbox: on shared networks a name that is not allowed has no address (ADR 049). */
export const dnsSection = strictKeys({
  unknown: z
    .enum(['answer', 'nxdomain'], { error: 'write answer, or nxdomain to say that such a name does not exist' })
    .default('answer'),
});

export const gitSection = strictKeys({
  hosts: z.array(hostName, { error: 'write a list of host names' }).default([]),
  public_fetch: yesOrNo.default(false),
});

const part = z.unknown().optional();

/** Its parts are checked one by one, so that an error in one does not hide those of another. */
export const upstreamSection = strictKeys({ resolve: part, ca: part, proxy: part });

export const resolveTarget = textRead(parseResolveTarget, 'an address such as "127.0.0.1:9443"');
const pemPath = 'write the path of a PEM file';
export const rootFiles = oneOrMany(z.string({ error: pemPath }).min(1, { error: pemPath }));
