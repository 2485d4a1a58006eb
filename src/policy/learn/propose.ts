// The smallest patch that lets the next session read what this one read: presets of package managers where one is what was
// needed, a wildcard where several hosts are clearly one owner's, else host by host. To read, never more; and nothing that would
// widen a rule somebody has written. Pure: the same observations give the same lines.
import type { AllowEntry } from '../edit/allow-entry.ts';
import type { KnownHosts } from '../explain/known-hosts.ts';
import type { ReadHost } from './observe.ts';
import { isShared, ownersDomain } from './public-suffixes.ts';

/** A preset that installs packages and brings no credential. */
export interface ReadingPreset {
  readonly name: string;
  readonly hosts: readonly PresetHost[];
  /** What it allows beyond reading, in words: whoever adds it must see that. */
  readonly also?: string;
}

export interface PresetHost {
  readonly host: string;
  covers(path: string): boolean;
}

export interface ProposalParts {
  readonly read: readonly ReadHost[];
  /** Those that the policy does not have yet. */
  readonly presets: readonly ReadingPreset[];
  readonly known: KnownHosts;
  /** When it was seen: `2026-11-16`. */
  readonly date: string;
}

const reads = ['GET', 'HEAD'];
/** Fewer are as quickly listed, and tell less about who owns the domain. */
const enoughForWildcard = 3;
const namedInComment = 5;

export function proposeEntries({ read, presets, known, date }: ProposalParts): readonly AllowEntry[] {
  const left = new Map(
    read
      .filter(({ host }) => !known.names(host))
      .sort((a, b) => compare(a.host, b.host))
      .map((one) => [one.host, one]),
  );
  const entries: AllowEntry[] = [];
  const take = (hosts: readonly ReadHost[], entry: AllowEntry, also = ''): void => {
    const requests = hosts.reduce((sum, one) => sum + one.requests, 0);
    const which = entry.host !== undefined && hosts.length === 1 ? '' : ` to ${listed(hosts)}`;
    const seen = `learned ${date}: ${requests} request${requests === 1 ? '' : 's'}${which}`;
    entries.push({ ...entry, comment: `${seen}${also}` });
    for (const { host } of hosts) left.delete(host);
  };
  for (const preset of presets) {
    const hosts = neededOf(preset, left, known);
    const { name, also } = preset;
    if (hosts !== null) take(hosts, { preset: name }, also === undefined ? '' : `; ${also}`);
  }
  for (const [domain, hosts] of byOwner([...left.values()])) {
    if (isOneOwners(domain, hosts, known)) take(hosts, { host: `*.${domain}`, methods: reads });
  }
  for (const one of [...left.values()]) take([one], { host: one.host, methods: reads });
  return entries;
}

/** In a comment, which people read: as many as a line has room for. */
function listed(hosts: readonly ReadHost[]): string {
  const more = hosts.length > namedInComment ? ` and ${hosts.length - namedInComment} more` : '';
  return `${hosts
    .slice(0, namedInComment)
    .map(({ host }) => host)
    .join(', ')}${more}`;
}

/** Null: it is not what was needed, or it would bring more than is known to be harmless. */
function neededOf(
  { hosts }: ReadingPreset,
  left: ReadonlyMap<string, ReadHost>,
  known: KnownHosts,
): readonly ReadHost[] | null {
  const needed = [...left.values()].filter(({ host }) => hosts.some((one) => one.host === host));
  if (needed.length === 0 || hosts.some(({ host }) => known.names(host))) return null;
  const covered = (host: string, path: string): boolean => hosts.some((one) => one.host === host && one.covers(path));
  return needed.every(({ host, paths }) => paths.every((path) => covered(host, path))) ? needed : null;
}

function byOwner(read: readonly ReadHost[]): ReadonlyMap<string, readonly ReadHost[]> {
  const owners = new Map<string, ReadHost[]>();
  for (const one of read) {
    const domain = ownersDomain(one.host);
    if (domain === null) continue;
    const hosts = owners.get(domain);
    if (hosts === undefined) owners.set(domain, [one]);
    else hosts.push(one);
  }
  return owners;
}

function isOneOwners(domain: string, hosts: readonly ReadHost[], known: KnownHosts): boolean {
  if (hosts.length < enoughForWildcard || isShared(domain) || known.reachedBelow(domain)) return false;
  return hosts.every(({ host }) => isCalledAsAService(host.slice(0, -domain.length - 1)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// What owners of a domain call the services below it: `cdn`, `docs2`, `us-east-1.packages`. Not `alice` or `d3adb33f01x`: where
// people and tenants have names, the next one is a stranger's. Names that are not here are never taken for a service.
const words: ReadonlySet<string> = new Set(
  `
  api apis app apps archive archives artifact artifacts asset assets auth binaries blob blobs build builds cache cdn charts cloud
  conda config console content contents crates css data deb debian dev developer developers dist dl doc docs download downloads
  edge events feed feeds file files font fonts ftp gateway get git guide help host hosts hub id image images img index info install
  installer js lib libs login manual maven media meta metadata mirror mirrors models news npm nuget object objects origin package
  packages pkg pkgs plugin plugins prod production proxy public pypi raw read ref reference registry release releases repo
  repository repos resources rpm schema schemas sdk search secure service services src source sources sso static stats status
  storage store sum support svc telemetry tools update updates upload uploads video videos web wheels wiki www
  global us eu ap sa ca af me uk de fr jp east west north south central northeast northwest southeast southwest
`
    .trim()
    .split(/\s+/),
);

/** `name`: what stands before the domain. */
function isCalledAsAService(name: string): boolean {
  return name.split(/[-.]/).every((part, at) => {
    if (at > 0 && /^[0-9]{1,2}$/.test(part)) return true;
    return words.has(part.replace(/(?<=[a-z])[0-9]{1,2}$/, ''));
  });
}
