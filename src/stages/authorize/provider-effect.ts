// Paths of providers that mint a credential or start an agent elsewhere (config/presets.yaml, `effects`): which of these effects
// a request has. Tried on every reading of the path, because a server may read any of them. // Guards: threats.md T83
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { AllowRule, CompiledPolicy, EffectPaths } from '../../policy/compiled.ts';
import { toAllowEffects } from './allow-hints.ts';
import { readingsOf } from './path-forms.ts';

export function effectsOf(policy: CompiledPolicy, canonical: CanonicalRequest, method: string): readonly EffectPaths[] {
  const reads = (method === 'GET' || method === 'HEAD') && canonical.kind !== 'websocket';
  const known = policy.effectsAt(canonical.host).filter(({ readable }) => !(readable && reads));
  // Token endpoints of a login are answered by the gateway.
  if (known.length === 0 || policy.tokenEndpoints.at(canonical.host, canonical.path) !== undefined) return [];
  const readings = [...readingsOf(canonical), keepingSlashes(canonical.rawPath)].flatMap(spellings);
  return known.filter(({ folded }) => folded.some((path) => readings.some((reading) => path.covers(reading))));
}

/** Decoded but for slashes: one name in one segment, as servers read it that take a path for an id. */
function keepingSlashes(rawPath: string): string {
  if (!rawPath.includes('%')) return rawPath;
  return rawPath.replaceAll(/%(?!2f|5c)[0-7][0-9a-f]/gi, (code) => decodeURIComponent(code));
}

/** Servers fold slashes and cases, drop what follows a semicolon, and read `.json` as the format of the answer. */
function spellings(reading: string): string[] {
  const plain = reading
    .replaceAll(/;[^/]*/g, '')
    .replaceAll(/\/+/g, '/')
    .replace(/\/$/, '')
    .toLowerCase();
  return [plain, plain.replace(/\.[a-z0-9]+$/, '')];
}

export function allowsEffects({ effects }: AllowRule, needed: readonly EffectPaths[]): boolean {
  return needed.every(({ effect }) => effects?.has(effect) === true);
}

export function effectNotAllowed(canonical: CanonicalRequest, method: string, needed: readonly EffectPaths[]): Refusal {
  const { host, path } = canonical;
  const effects = [...new Set(needed.map(({ effect }) => effect))];
  const what = effects.map((effect) => words[effect]).join(' and ');
  return new Refusal('provider.effect', `${method} ${path} of ${host} ${what}`, {
    rule: `built-in: ${effects.join(', ')} of preset ${needed[0]!.preset}`,
    hint: toAllowEffects(canonical, method, effects),
  });
}

const words = {
  'mint-credential': 'makes a credential or says who gets one',
  'remote-agent': 'starts or steers an agent elsewhere',
} as const;
