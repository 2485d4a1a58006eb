// What became of one case, and of the allowlist as a whole: does the verdict match what was expected, and which entries did no
// case touch. Compares words; decides nothing.
import type { CompiledPolicy } from '../compiled.ts';
import type { CaseOutcome, PolicyCase } from './policy-cases.ts';

/** What the code of the path says to a case. */
export interface JudgedCase {
  readonly outcome: CaseOutcome;
  /** Of a refusal; else null. */
  readonly code: string | null;
  readonly rule: string;
  readonly reason: string;
  readonly hint: string;
  readonly credential: string | null;
  /** Names of the rules of `allow` that came into it. */
  readonly touched: readonly string[];
}

export type JudgeCase = (policy: CompiledPolicy, tried: PolicyCase) => Promise<JudgedCase>;

/** What differs from what was expected, in words; empty: it passes. */
export function differences({ expect, code, rule, credential }: PolicyCase, judged: JudgedCase): string[] {
  if (judged.outcome !== expect) return [`expected ${inWords(expect)}, but it is ${inWords(judged.outcome)}`];
  const found: string[] = [];
  if (code !== null && judged.code !== code) found.push(`expected the code ${code}, but it is ${judged.code}`);
  if (rule !== null && !isRule(rule, judged.rule)) found.push(`expected the rule ${rule}, but it is ${judged.rule}`);
  // `none` is easier to see than nothing.
  const wanted = credential === 'none' ? null : credential;
  if (wanted !== undefined && judged.credential !== wanted) {
    found.push(`expected ${credentialInWords(wanted)}, but it goes with ${credentialInWords(judged.credential)}`);
  }
  return found;
}

/** `allow[0]` is enough for `allow[0] (preset github)`. */
function isRule(expected: string, actual: string): boolean {
  return actual === expected || actual.startsWith(`${expected} (`);
}

function inWords(outcome: CaseOutcome): string {
  return { allowed: 'allowed', refused: 'refused', ask: 'held for a person', undecided: 'undecided' }[outcome];
}

function credentialInWords(name: string | null): string {
  return name === null ? 'no credential' : `the credential ${name}`;
}

export interface UntouchedEntry {
  /** `allow[2]` */
  readonly entry: string;
  readonly line: number | null;
  /** Its preset or its hosts. */
  readonly what: string;
}

/** Entries of `allow` that no case touched: nobody would notice if they were gone, or much wider. */
export function untouchedEntries(policy: CompiledPolicy, touched: ReadonlySet<string>): UntouchedEntry[] {
  const entries = new Map<string, UntouchedEntry>();
  for (const { name, line, host } of policy.allow) {
    if (touched.has(name)) continue;
    const [, entry = name, preset] = /^(\S+)(?: \((preset .+)\))?$/.exec(name) ?? [];
    const known = entries.get(name);
    if (known === undefined) entries.set(name, { entry, line, what: preset ?? host.text });
    else if (preset === undefined && !known.what.split(', ').includes(host.text)) {
      entries.set(name, { ...known, what: `${known.what}, ${host.text}` });
    }
  }
  return [...entries.values()];
}
