// What would make a request pass that no rule of the allowlist covers. Whatever is said here must hold: a policy changed as it
// says is valid, and lets this very request pass. Decides nothing.
import type { CanonicalRequest } from '../../path/flow.ts';
import type { AllowRule } from '../../policy/compiled.ts';
import { coversPath, hidesABoundary } from './path-forms.ts';

/** A preset takes no keys of its own, and what a person has approved stands in no file: neither can be added to. */
const ownEntry = /^allow\[\d+\]$/;
/** The door answers there itself. */
const askInstead = 'Or ask a person for it: POST http://sallyport.internal/requests';
/** A hint is cut where it is kept, and says what to do at its end. */
const maxListed = 300;
const maxPath = 256;

/** `isWithoutFile`: whoever writes one that has these lines alone would shut out what is allowed without any. */
export function toAllowHost(canonical: CanonicalRequest, isWithoutFile = false): string {
  const { host, scheme, port } = canonical;
  const lines = [`  - host: ${host}`];
  if (scheme === 'http') lines.push('    plain_http: true');
  if (port !== (scheme === 'http' ? 80 : 443)) lines.push(`    ports: [${port}]`);
  const first = isWithoutFile
    ? 'There is no sallyport.yaml yet: `sallyport init` writes one that allows what is allowed without it. '
    : '';
  return `${first}${entryHint(lines, canonical)}`;
}

export function toAllowRequests(rules: readonly AllowRule[]): string {
  const own = namesOf(rules.filter(({ name }) => ownEntry.test(name)));
  const remedy = own === '' ? '' : `, or remove tunnel: true from ${own} so that requests can be judged`;
  return `Use https through CONNECT${remedy}.`;
}

export function toAllowPlainHttp(rules: readonly AllowRule[], canonical: CanonicalRequest, method: string): string {
  const { host, port } = canonical;
  const ports = [...new Set(rules.flatMap((rule) => rule.ports))];
  const instead = `Use https://${host}${ports.includes(443) ? '' : `:${ports[0]}`}`;
  // Where an entry names no ports, plain_http brings 80 with it.
  const brings80 = (rule: AllowRule): boolean => port === 80 && rule.ports.every((one) => one === 443);
  const near = rules.find(
    (rule) =>
      isForItAlone(rule) &&
      (rule.ports.includes(port) || brings80(rule)) &&
      coversMethod(rule, method) &&
      coversPath(rule.paths, canonical),
  );
  if (near === undefined) return `${instead}. ${toAddAnEntry(canonical, method)}`;
  const and = near.ports.includes(port) ? '' : ', and 80 to its ports where it names them';
  return `${instead}, or add plain_http: true to ${near.name}${and}.`;
}

/** Of a CONNECT nothing but the port is known yet. */
export function toAllowPort(rules: readonly AllowRule[], canonical: CanonicalRequest, method: string | null): string {
  const ports = [...new Set(rules.flatMap((rule) => rule.ports))];
  const near = rules.find(
    (rule) =>
      isForItAlone(rule) && (method === null || (coversMethod(rule, method) && coversPath(rule.paths, canonical))),
  );
  const allowed = `Allowed there: ${ports.join(', ') || '443'}.`;
  if (near === undefined) return `${allowed} ${toAddAnEntry(canonical, method)}`;
  // The whole list: one with the new port alone would take the others away, also those that it has without naming any.
  return `${allowed} Write ports: [${[...near.ports, canonical.port].join(', ')}] in ${near.name} to allow it.`;
}

export function toAllowMethod(rules: readonly AllowRule[], canonical: CanonicalRequest, method: string): string {
  const allowed = new Set(rules.flatMap((rule) => [...(rule.methods ?? [])]));
  const instead = `Allowed there: ${[...allowed].join(', ') || 'nothing'}.`;
  const near = rules.find((rule) => isForItAlone(rule) && canBeNamed(method) && coversPath(rule.paths, canonical));
  if (near === undefined) return `${instead} ${toAddAnEntry(canonical, method)}`;
  return `${instead} Add ${method} to methods of ${near.name} to allow it.`;
}

export function toAllowPath(rules: readonly AllowRule[], canonical: CanonicalRequest, method: string): string {
  const patterns = [...new Set(rules.flatMap((rule) => rule.paths ?? []).map(({ text }) => text))];
  const instead = `Allowed paths there: ${listed(patterns)}.`;
  const why = hidesABoundary(canonical) ? ' A rule must cover it as it came and decoded.' : '';
  const near = rules.find(isForItAlone);
  if (near === undefined) return `${instead}${why} ${toAddAnEntry(canonical, method)}`;
  return `${instead}${why} Add ${patternsOf(canonical)} to paths of ${near.name} to allow it.`;
}

/** No person can approve an effect, so there is nobody to ask. */
export function toAllowEffects(canonical: CanonicalRequest, method: string, effects: readonly string[]): string {
  if (!canBeNamed(method)) return 'Only a rule that names the effect and no methods covers such a one.';
  const lines = [...narrowEntry(canonical, method), `    effects: [${effects.join(', ')}]`];
  return `No rule covers it unless it names the effect. To allow it, add to sallyport.yaml under allow:\n${lines.join('\n')}`;
}

export function namesOf(rules: readonly AllowRule[]): string {
  return [...new Set(rules.map((rule) => rule.name))].join(', ');
}

function listed(patterns: readonly string[]): string {
  let length = 0;
  const shown = patterns.filter((text) => {
    length += text.length;
    return length <= maxListed;
  });
  if (shown.length === patterns.length) return patterns.join(', ') || 'none';
  return `${shown.join(', ')} and ${patterns.length - shown.length} more`;
}

/** For this host alone: what is added to a wildcard is added for every host it covers. */
function isForItAlone({ name, host }: AllowRule): boolean {
  return ownEntry.test(name) && !host.text.startsWith('*');
}

function coversMethod({ methods }: AllowRule, method: string): boolean {
  return methods === null || methods.has(method);
}

/** As a policy can name one; the fields that ask for another method may hold anything. */
function canBeNamed(method: string): boolean {
  return /^[A-Z][A-Z-]{0,31}$/.test(method);
}

/** An entry of its own, as narrow as what was asked. */
function toAddAnEntry(canonical: CanonicalRequest, method: string | null): string {
  if (method !== null && !canBeNamed(method)) return 'Only a rule that names no methods covers such a one.';
  return entryHint(narrowEntry(canonical, method), canonical);
}

function narrowEntry(canonical: CanonicalRequest, method: string | null): string[] {
  const { host, scheme, port } = canonical;
  const lines = [`  - host: ${host}`];
  if (method !== null) lines.push(`    methods: [${method}]`, `    paths: [${patternsOf(canonical)}]`);
  if (scheme === 'http') lines.push('    plain_http: true');
  if (scheme === 'http' || port !== 443) lines.push(`    ports: [${port}]`);
  return lines;
}

function entryHint(lines: readonly string[], canonical: CanonicalRequest): string {
  // What can be read in two ways, or is a WebSocket, is not asked for ahead of time.
  const ask = hidesABoundary(canonical) || canonical.kind === 'websocket' ? '' : `\n${askInstead}`;
  return `To allow it, add to sallyport.yaml under allow:\n${lines.join('\n')}${ask}`;
}

function patternsOf(canonical: CanonicalRequest): string {
  return patternsFor(canonical)
    .map((pattern) => `"${pattern}"`)
    .join(', ');
}

/** Patterns that cover every form of the path. */
export function patternsFor(canonical: CanonicalRequest): string[] {
  const forms = hidesABoundary(canonical) ? [canonical.path, canonical.rawPath] : [canonical.path];
  return forms.map(patternOf);
}

/** A pattern has no way to write some signs, and YAML reads others: a segment with one of them is any segment. */
function patternOf(path: string): string {
  const isPlain = /^[\w.~:@!$&'()+,;= -]*$/;
  const segments = path.split('/').map((segment) => (isPlain.test(segment) ? segment : '*'));
  const whole = segments.join('/');
  if (whole.length <= maxPath) return whole;
  // What is too long to be read ends behind the last segment that fits.
  const end = whole.slice(0, maxPath).lastIndexOf('/');
  return `${whole.slice(0, end)}/**`;
}
