// What the table of providers' effects (config/presets.yaml) means for a policy: which of them a host has, and where a credential
// goes when an entry of `allow` names one. Never allows anything: that a request passes is for the rules to say.
import type { AllowRule, CredentialSpec, EffectPaths, HostPattern, Placement } from './compiled.ts';
import { HostIndex } from './host-index.ts';
import type { PresetCatalog } from './schema/presets.ts';

const maxRemembered = 4096;

export function effectsByHost(effects: readonly EffectPaths[]): (host: string) => readonly EffectPaths[] {
  const index = new HostIndex<EffectPaths>();
  // Names with a wildcard within, which the index does not know: a handful.
  const within: [HostPattern, EffectPaths][] = [];
  for (const one of effects) {
    for (const host of one.hosts) {
      if (isIndexed(host)) index.add(host, one);
      else within.push([host, one]);
    }
  }
  // Asked for every request. Bounded, as the index is.
  const remembered = new Map<string, readonly EffectPaths[]>();
  return (host) => {
    const known = remembered.get(host);
    if (known !== undefined) return known;
    const more = within.filter(([pattern]) => pattern.covers(host)).map(([, one]) => one);
    const found = more.length === 0 ? index.find(host) : [...index.find(host), ...more];
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(host, found);
    return found;
  };
}

function isIndexed({ text }: HostPattern): boolean {
  return !text.replace(/^\*\./, '').includes('*');
}

/** The credentials of presets, with the paths of the effects that `rules` name. Those of the user stay as he wrote them. */
export function placeAllowedEffects(
  credentials: ReadonlyMap<string, CredentialSpec>,
  rules: readonly AllowRule[],
  catalog: PresetCatalog,
): Map<string, CredentialSpec> {
  const allowed = catalog.effects.filter(({ effect, hosts }) =>
    rules.some((rule) => rule.effects?.has(effect) === true && hosts.some((host) => overlap(host, rule.host))),
  );
  return new Map(
    [...credentials].map(([name, spec]) => {
      if (allowed.length === 0 || !catalog.credentials.has(name)) return [name, spec];
      const added = allowed.flatMap((one) => placeOf(spec.placements, one));
      return [name, added.length === 0 ? spec : { ...spec, placements: [...spec.placements, ...added] }];
    }),
  );
}

/** In the form in which the credential goes to the API of that host: git's password is for git alone. */
function placeOf(placements: readonly Placement[], { hosts: where, paths }: EffectPaths): Placement[] {
  const near = placements.find((one) => isApi(one) && one.hosts.some((host) => where.some((at) => overlap(at, host))));
  if (near === undefined) return [];
  const hosts = near.hosts.filter((host) => where.some((at) => overlap(at, host)));
  return [{ hosts, paths, injection: near.injection }];
}

/** Has a list of paths, and is not git's. */
export function isApi({ paths, injection }: Placement): boolean {
  return paths !== null && injection.kind !== 'basic';
}

function overlap(one: HostPattern, other: HostPattern): boolean {
  return one.covers(example(other)) || other.covers(example(one));
}

function example({ text }: HostPattern): string {
  return text.replaceAll('*', 'any');
}
