// Which hosts a sandbox may reach and where its credentials go, in sentences. Says what the compiled policy says, in its
// order, and nothing of where a value comes from unless it is the operator who reads.
import type { AllowRule, CompiledPolicy, CredentialSpec, Injection, PathPattern } from '../compiled.ts';
import { loadPresets } from '../schema/presets.ts';

/** A sentence names at most this many hosts and counts the rest, unless all are asked for. */
const manyNames = 8;

interface ExplainHostsOptions {
  /** Every name, however many. */
  readonly full: boolean;
  /** Whether the rules are named by their lines. */
  readonly places: boolean;
}

/** One sentence for the entries that differ in nothing but the host, under the preset they came from. */
export function explainHosts(policy: CompiledPolicy, { full, places }: ExplainHostsOptions): string[] {
  const groups = new Map<string, AllowRule[]>();
  for (const rule of policy.allow) {
    const key = [rule.name, whatOf(rule)].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), rule]);
  }
  const told = new Set<string>();
  return [...groups.values()].map((rules) => {
    const rule = rules[0]!;
    const hosts = names([...new Set(rules.map(hostIn))], full);
    const said = `${hosts}: ${whatOf(rule)}`;
    const preset = presetOf(rule);
    if (preset === null) return `${said}${places ? placeOf(rule) : ''}.`;
    const about = told.has(preset) ? '' : aboutOf(preset);
    told.add(preset);
    return `${said}. Preset ${preset}${about}.`;
  });
}

/** In learning (`bare`) what belongs to GitHub, git or a credential stays shut as well. */
function hostIn({ host, bare }: AllowRule): string {
  if (host.text !== '*') return host.text;
  return bare ? 'Every public host that the policy does not name' : 'Every host, for what no other entry covers';
}

/** The preset that a rule came from; null: an entry of its own. */
function presetOf({ name }: AllowRule): string | null {
  return /^allow\[\d+\] \(preset (.+)\)$/.exec(name)?.[1] ?? null;
}

function aboutOf(preset: string): string {
  const about = loadPresets().presets.get(preset)?.about;
  return about === undefined ? '' : `: ${about}`;
}

function placeOf({ name, line }: AllowRule): string {
  return line === null ? ` (${name})` : ` (${name}, line ${line})`;
}

function whatOf(rule: AllowRule): string {
  const parts = rule.tunnel ? ['anything, passed on undecrypted and without a credential'] : [whatIsJudged(rule)];
  if (rule.plainHttp) parts.push('also over plain http');
  const ports = rule.ports.join(', ');
  if (ports !== (rule.plainHttp ? '443, 80' : '443')) {
    parts.push(`on port${rule.ports.length === 1 ? '' : 's'} ${ports}`);
  }
  if (rule.websocket === true) parts.push('as a WebSocket');
  if (rule.websocket === false && rule.methods?.has('GET')) parts.push('but no WebSocket');
  if (rule.bare) parts.push('without any credential');
  if (rule.effects) parts.push(`also what has the effect ${[...rule.effects].join(' or ')}`);
  if (rule.ask) parts.push('after a person has agreed');
  return parts.join(', ');
}

function whatIsJudged({ methods, paths }: AllowRule): string {
  if (methods === null) return paths === null ? 'every method and path' : `every method on ${pathsIn(paths)}`;
  const asked = [...methods];
  const isRead = asked.every((method) => method === 'GET' || method === 'HEAD');
  return `${asked.join(', ')}${isRead ? ' (reading)' : ''}${paths === null ? '' : ` on ${pathsIn(paths)}`}`;
}

function pathsIn(paths: readonly PathPattern[]): string {
  return paths.map(({ text }) => text).join(', ');
}

/** Where one credential goes and in which form. */
export function explainPlaces({ placements, login, source }: CredentialSpec, full: boolean): string {
  const asLogin = source.kind === 'login' ? (login?.injection ?? null) : null;
  const places = placements.map(({ hosts, paths, injection }) => {
    const where = names(
      hosts.map(({ text }) => text),
      full,
    );
    const only = paths === null ? '' : ` (${names(pathTexts(paths), full)})`;
    return `to ${where}${only} as ${formOf(asLogin ?? injection)}`;
  });
  return places.join('; ');
}

function pathTexts(paths: readonly PathPattern[]): string[] {
  return paths.map(({ text }) => text);
}

function formOf(injection: Injection): string {
  switch (injection.kind) {
    case 'header':
      return injection.prefix.trim() === '' ? injection.header : `${injection.header}: ${injection.prefix.trim()}`;
    case 'basic':
      return `the password of ${injection.username}`;
    case 'query':
      return `the parameter ${injection.parameter}`;
    case 'sigv4':
      return 'a signature (AWS Signature Version 4)';
    case 'certificate':
      return 'the key of a client certificate';
    case 'path':
      return injection.pattern === null ? 'a part of the path' : `a part of the path ${injection.pattern}`;
    case 'json':
      return `${injection.shown} of a JSON body`;
    case 'form':
      return `the field ${injection.field} of a form`;
    case 'hmac':
      return `a signature of the body in ${injection.hmac.header}`;
  }
}

/** `a, b and c`; of many the first few and how many more. */
export function names(all: readonly string[], full: boolean): string {
  if (!full && all.length > manyNames) {
    return `${all.slice(0, manyNames - 2).join(', ')} and ${all.length - manyNames + 2} more`;
  }
  if (all.length < 2) return all[0] ?? 'none';
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}
