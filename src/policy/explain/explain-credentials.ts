// Which credentials a sandbox may use and where each goes, in sentences. Names and places, never a value; where a value comes
// from is said to the operator alone.
import type { CompiledPolicy, CredentialSpec } from '../compiled.ts';
import { sourceInWords } from './describe-policy.ts';
import { explainPlaces, names } from './explain-hosts.ts';
import type { ExplainedSandbox, ExplainOptions } from './explain-policy.ts';

export function explainCredentials(
  { credentials }: CompiledPolicy,
  sandbox: ExplainedSandbox,
  options: ExplainOptions & { readonly full: boolean },
): string[] {
  const all = [...credentials.values()];
  const isIts = ({ name }: CredentialSpec): boolean => sandbox.credentials?.includes(name) ?? true;
  const its = all.filter(isIts);
  if (its.length === 0) return ['The sandbox may use no credential: its requests go out without one.'];
  const sentences = its.map(
    (spec) => `${spec.name} goes ${explainPlaces(spec, options.full)}.${stateOf(spec, options)}`,
  );
  const others = all.filter((spec) => !isIts(spec)).map(({ name }) => name);
  if (options.audience === 'operator' && others.length > 0) {
    sentences.push(`Not for this sandbox: ${names(others, true)}.`);
  }
  sentences.push('A credential goes nowhere else. Whatever the sandbox sends in its place is removed first.');
  return sentences;
}

function stateOf(spec: CredentialSpec, { isSet, audience }: ExplainOptions): string {
  const from = audience === 'operator' ? ` ${originOf(spec)}` : '';
  const without = spec.anonymous ? 'requests go without it' : 'requests that need it are refused';
  if (isSet === undefined) return `${from} Without a value, ${without}.`;
  return isSet(spec.name) ? `${from} It is set.` : `${from} It is not set, so ${without}.`;
}

function originOf({ name, source }: CredentialSpec): string {
  if (source.kind === 'memory') return `Its value is given by \`sallyport secret set ${name}\`.`;
  return `Its value comes from ${sourceInWords(source)}.`;
}
