// The words of one rule. Every rule counts what it meets and says what it is for, so that a person who lists the ruleset
// sees which one refused something, and a test can take away exactly that one.

export interface Rule {
  readonly match: string;
  readonly verdict: string;
  readonly comment: string;
}

export interface Chain {
  readonly name: string;
  /** How it is hooked into the kernel; null: only rules lead to it. */
  readonly hook: string | null;
  readonly rules: readonly Rule[];
}

export function rule(match: string, verdict: string, comment: string): Rule {
  return { match, verdict, comment };
}

export function accept(match: string, comment: string): Rule {
  return rule(match, 'accept', comment);
}

export function drop(match: string, comment: string): Rule {
  return rule(match, 'drop', comment);
}

export function portSet(ports: readonly number[]): string {
  return `{ ${ports.join(', ')} }`;
}

export function writeChain({ name, hook, rules }: Chain): string[] {
  const lines = rules.map(
    ({ match, verdict, comment }) => `${match === '' ? '' : `${match} `}counter ${verdict} comment "${comment}"`,
  );
  return [`chain ${name} {`, ...(hook === null ? [] : [`  ${hook}`]), ...lines.map((line) => `  ${line}`), '}'];
}
