// Paths of providers that mint a credential or start an agent elsewhere (config/presets.yaml, `effects`): which of these effects
// a request has. Tried on every reading of the path, because a server may read any of them. // Guards: threats.md T83
import type { CanonicalRequest } from '../flow/flow.ts';
import { Refusal } from '../flow/refusal.ts';
import { inlineEntry } from '../policy/allow-entry.ts';
import type { AllowRule, CompiledPolicy, EffectPaths } from '../policy/compiled.ts';
import { tokenEndpointAt } from '../policy/token-endpoints.ts';
import { readingsOf } from './path-forms.ts';

export function effectsOf(policy: CompiledPolicy, canonical: CanonicalRequest): readonly EffectPaths[] {
  const known = policy.effectsAt(canonical.host);
  // Token endpoints of a login are answered by the gateway.
  if (known.length === 0 || tokenEndpointAt(policy, canonical.host, canonical.path) !== undefined) return [];
  const readings = readingsOf(canonical).flatMap(spellings);
  return known.filter(({ paths }) => paths.some((path) => readings.some((reading) => path.covers(reading))));
}

/** Servers fold slashes and cases, drop what follows a semicolon, and take `.json` for a wish about the answer. */
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

export function effectNotAllowed(
  { host, port, path }: CanonicalRequest,
  method: string,
  needed: readonly EffectPaths[],
): Refusal {
  const effects = [...new Set(needed.map(({ effect }) => effect))];
  const what = effects.map((effect) => words[effect]).join(' and ');
  const ports = port === 443 ? {} : { ports: [port] };
  const entry = inlineEntry({ host, methods: [method], paths: [path], ...ports, effects });
  return new Refusal('provider.effect', `${method} ${path} of ${host} ${what}`, {
    rule: `built-in: ${effects.join(', ')} of preset ${needed[0]!.preset}`,
    hint: `No rule covers this unless it names the effect. The operator adds to allow: - ${entry}`,
  });
}

const words = {
  'mint-credential': 'makes a credential or says who gets one',
  'remote-agent': 'starts or steers an agent elsewhere',
} as const;
