// `allow`: entries of the document become rules. A preset brings its own rules; a package-manager preset brings the
// hosts found in the user's own configuration. Never decides about a request.

import { compileGlob } from '../kit/text/glob.ts';
import type { AllowRule, TcpRule } from './compiled.ts';
import { exactHost } from './host-pattern.ts';
import type { PackageFamily, PackageHosts } from './load/package-hosts.ts';
import type { PackageOrigin } from './packages/package-origin.ts';
import { didYouMean } from './schema/closest-word.ts';
import type { Findings } from './schema/findings.ts';
import type { PresetCatalog } from './schema/presets.ts';
import { type AllowPresetDocument, type AllowRuleDocument, allowPreset, allowRule } from './schema/schema.ts';

export interface CompiledAllow {
  readonly rules: AllowRule[];
  readonly tcp: TcpRule[];
  /** Presets in use, in order. */
  readonly presets: string[];
  /** Hosts of those presets that serve git. */
  readonly gitHosts: string[];
}

/** Names of the package families whose presets the document uses; read before the rest, because asking takes time. */
export function packageFamiliesIn(allow: unknown, catalog: PresetCatalog): Set<PackageFamily> {
  const families = new Set<PackageFamily>();
  if (!Array.isArray(allow)) return families;
  for (const entry of allow) {
    const family = isMap(entry) ? catalog.presets.get(String(entry.preset))?.packages : null;
    if (family) families.add(family);
  }
  return families;
}

export function compileAllow(
  value: unknown,
  findings: Findings,
  catalog: PresetCatalog,
  packages: ReadonlyMap<PackageFamily, PackageHosts>,
): CompiledAllow {
  const compiled: CompiledAllow = { rules: [], tcp: [], presets: [], gitHosts: [] };
  if (value === undefined || value === null) {
    findings.warn('`allow` names nothing, so every request will be refused: add `- preset: NAME` or `- host: NAME`');
    return compiled;
  }
  if (!Array.isArray(value)) {
    findings.error(['allow'], 'write a list of `- preset: NAME` and `- host: NAME` entries');
    return compiled;
  }
  for (const [i, entry] of value.entries()) {
    const path = ['allow', i];
    if (!isMap(entry)) {
      findings.error(path, 'write `- preset: NAME` or `- host: NAME`');
    } else if (entry.preset !== undefined) {
      addPreset(entry, path, compiled, findings, catalog, packages);
    } else {
      const checked = findings.check<AllowRuleDocument>(allowRule, entry, path);
      const line = findings.lineOf(path);
      if (checked?.tcp !== undefined) compiled.tcp.push(...tcpRulesOf(checked, checked.tcp, `allow[${i}]`, line));
      else if (checked) compiled.rules.push(...rulesOf(checked, `allow[${i}]`, line));
    }
  }
  return compiled;
}

function addPreset(
  entry: Record<string, unknown>,
  path: (string | number)[],
  compiled: CompiledAllow,
  findings: Findings,
  catalog: PresetCatalog,
  packages: ReadonlyMap<PackageFamily, PackageHosts>,
): void {
  const checked = findings.check<AllowPresetDocument>(allowPreset, entry, path);
  if (!checked) return;
  const preset = catalog.presets.get(checked.preset);
  if (!preset) {
    findings.error(
      [...path, 'preset'],
      `there is no such preset: ${didYouMean(checked.preset, catalog.presets.keys())}`,
    );
    return;
  }
  if (compiled.presets.includes(preset.name)) {
    findings.error([...path, 'preset'], `preset ${preset.name} is already listed: remove one of the two`);
    return;
  }
  compiled.presets.push(preset.name);
  compiled.gitHosts.push(...preset.gitHosts);
  const name = `allow[${path[1]}] (preset ${preset.name})`;
  const line = findings.lineOf(path);
  for (const rule of preset.rules) compiled.rules.push(...rulesOf({ ...rule, effects: checked.effects }, name, line));
  if (preset.packages) {
    const found = packages.get(preset.packages) ?? { origins: [], warnings: [] };
    for (const warning of found.warnings) findings.warn(`preset ${preset.name}: ${warning}`);
    for (const origin of found.origins) compiled.rules.push(...packageRules(origin, preset.packages, name, line));
  }
}

function rulesOf(rule: AllowRuleDocument, name: string, line: number): AllowRule[] {
  const plainHttp = rule.plain_http ?? false;
  return rule.host.map((host) => ({
    name,
    line,
    host,
    methods: rule.methods ? new Set(rule.methods) : null,
    paths: rule.paths ?? null,
    ports: rule.ports ?? (plainHttp ? [443, 80] : [443]),
    plainHttp,
    tunnel: rule.tunnel ?? false,
    conversation: rule.conversation ?? false,
    ask: rule.ask ?? false,
    ...(rule.effects === undefined ? {} : { effects: new Set(rule.effects) }),
  }));
}

function tcpRulesOf({ host }: AllowRuleDocument, ports: readonly number[], name: string, line: number): TcpRule[] {
  return host.map((one) => ({ name, line, host: one, ports: [...new Set(ports)] }));
}

// Installing only reads. `npm audit` posts the list of packages; publishing (PUT) is never part of a preset.
const readOnly: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const npmAudit = { methods: new Set(['POST']), paths: [compileGlob('/**/-/npm/v1/security/**')] };

function packageRules(origin: PackageOrigin, family: PackageFamily, name: string, line: number): AllowRule[] {
  const plainHttp = origin.scheme === 'http';
  const host = exactHost(origin.host);
  const shared = { name, line, host, ports: [origin.port], plainHttp, tunnel: false, conversation: false, ask: false };
  const paths = origin.paths ? origin.paths.map(compileGlob) : null;
  const rules: AllowRule[] = [{ ...shared, methods: readOnly, paths }];
  if (family === 'npm') rules.push({ ...shared, ...npmAudit });
  return rules;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
