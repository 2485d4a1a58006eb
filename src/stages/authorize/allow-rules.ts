// Whether one rule of the allowlist covers a request as a whole: host, port, scheme, method and path in the same
// rule. When none does, says which step failed; which lines would make it pass is said by `allow-hints.ts`. Default deny.
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { AllowRule, CompiledPolicy, EffectPaths } from '../../policy/compiled.ts';
import {
  namesOf,
  toAllowEffects,
  toAllowHost,
  toAllowMethod,
  toAllowPath,
  toAllowPlainHttp,
  toAllowPort,
  toAllowRequests,
} from './allow-hints.ts';
import { moreThanARead, otherPort } from './bare-requests.ts';
import { coversPath, readingsOf } from './path-forms.ts';

/** The origin of a policy that stands in no file. */
const noFile: CompiledPolicy['origin'] = 'embedded default';

/** The first rule that covers the whole request. `method` is the one to judge, which may not be the request's own. */
export function findAllowRule(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  method: string,
): AllowRule {
  const rules = policy.rulesFor(canonical.host);
  const covering = rules.filter((rule) => covers(rule, canonical, method));
  if (covering.length > 0) {
    const needed = effectsOf(policy, canonical, method);
    const rule = covering.find((one) => allowsEffects(one, needed));
    if (rule === undefined) throw effectNotAllowed(canonical, method, needed);
    return rule;
  }
  if (isOnlyBare(rules)) throw moreThanARead(canonical, method);
  if (rules.length === 0) throw hostNotAllowed(policy, sandbox, canonical);
  throw explain(rules, canonical, method);
}

function isOnlyBare(rules: readonly AllowRule[]): boolean {
  return rules.length > 0 && rules.every(({ bare }) => bare === true);
}

function covers(rule: AllowRule, canonical: CanonicalRequest, method: string): boolean {
  return (
    !rule.tunnel &&
    (canonical.scheme === 'https' || rule.plainHttp) &&
    rule.ports.includes(canonical.port) &&
    (rule.methods === null || rule.methods.has(method)) &&
    isOfItsKind(rule, canonical) &&
    coversPath(rule.paths, canonical)
  );
}

/** What a person was shown as a plain GET is no WebSocket, nor the other way round. // Guards: threats.md T67 */
function isOfItsKind({ websocket }: AllowRule, { kind }: CanonicalRequest): boolean {
  return websocket === undefined || websocket === (kind === 'websocket');
}

/** Narrows the rules step by step; the first step that leaves none is the reason. */
function explain(all: readonly AllowRule[], canonical: CanonicalRequest, method: string): Refusal {
  const { host, port, path } = canonical;
  let rules = all.filter((rule) => !rule.tunnel);
  if (rules.length === 0) {
    return new Refusal(
      'domain.not-allowed',
      `${host} may only be reached through an undecrypted tunnel (tunnel: true)`,
      {
        rule: namesOf(all),
        hint: toAllowRequests(all),
      },
    );
  }
  let left = canonical.scheme === 'https' ? rules : rules.filter((rule) => rule.plainHttp);
  if (left.length === 0) {
    return new Refusal('domain.plain-http', `${host} may not be reached over plain http`, {
      rule: namesOf(rules),
      hint: toAllowPlainHttp(rules, canonical, method),
    });
  }
  rules = left;
  left = rules.filter((rule) => rule.ports.includes(port));
  if (left.length === 0) return portNotAllowed(rules, canonical, method);
  rules = left;
  left = rules.filter((rule) => rule.methods === null || rule.methods.has(method));
  if (left.length === 0) {
    return new Refusal('method.not-allowed', `${method} is not allowed on ${host}`, {
      rule: namesOf(rules),
      hint: toAllowMethod(rules, canonical, method),
    });
  }
  rules = left;
  left = rules.filter((rule) => isOfItsKind(rule, canonical));
  if (left.length === 0) {
    const [asked, shown] =
      canonical.kind === 'websocket' ? ['a WebSocket', 'plain requests'] : ['a plain request', 'WebSockets'];
    return new Refusal(
      'method.not-allowed',
      `${asked} is not allowed on ${host}: a person has approved ${shown} alone`,
      {
        rule: namesOf(rules),
        hint: `A line for ${host} in sallyport.yaml covers both.`,
      },
    );
  }
  return new Refusal('path.not-allowed', `${method} ${path} is not allowed on ${host}`, {
    rule: namesOf(left),
    hint: toAllowPath(left, canonical, method),
  });
}

export function hostNotAllowed(
  { origin }: Pick<CompiledPolicy, 'origin'>,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
): Refusal {
  return new Refusal('domain.not-allowed', `${canonical.host} is not on the allowlist of ${sandbox.id}`, {
    rule: 'allow (no rule covers the host)',
    hint: toAllowHost(canonical, origin === noFile),
  });
}

/** `method` left out: asking for a tunnel, nothing more is known yet. */
export function portNotAllowed(
  rules: readonly AllowRule[],
  canonical: CanonicalRequest,
  method: string | null = null,
): Refusal {
  const { host, port } = canonical;
  if (isOnlyBare(rules)) return otherPort(canonical);
  return new Refusal('target.port', `port ${port} of ${host} is not allowed`, {
    rule: rules.length === 0 ? 'built-in: ports 443 and 80' : namesOf(rules),
    hint: toAllowPort(rules, canonical, method),
  });
}

// Paths of providers that mint a credential or start an agent elsewhere (config/presets.yaml, `effects`): which of these effects
// a request has. Tried on every reading of the path, because a server may read any of them. // Guards: threats.md T83
function effectsOf(policy: CompiledPolicy, canonical: CanonicalRequest, method: string): readonly EffectPaths[] {
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

function allowsEffects({ effects }: AllowRule, needed: readonly EffectPaths[]): boolean {
  return needed.every(({ effect }) => effects?.has(effect) === true);
}

function effectNotAllowed(canonical: CanonicalRequest, method: string, needed: readonly EffectPaths[]): Refusal {
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
