// `sallyport policy test`: runs the cases of a team against a policy, with the code that decides on the path. Needs no gateway, no
// credential and no network; changes nothing.
import { dirname, relative, resolve } from 'node:path';
import { loadJudge } from '../gateway/load-service.ts';
import type { JudgeCase, JudgedCase, UntouchedEntry } from '../policy/cases/case-verdict.ts';
import type { PolicyCase, PolicyCases } from '../policy/cases/policy-cases.ts';
import type { CompiledPolicy } from '../policy/compiled.ts';
import type { PolicyError, PolicyResult } from '../policy/schema/policy-error.ts';
import type { CliContext } from './cli-context.ts';
import { exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson } from './terminal/wants-json.ts';

export interface PolicyTestOptions {
  /** In place of what the files name. */
  readonly config?: string;
}

interface RunCase extends JudgedCase {
  readonly tried: PolicyCase;
  readonly differences: readonly string[];
}

interface RunFile {
  readonly file: string;
  readonly policy: string;
  readonly cases: readonly RunCase[];
  readonly untouched: readonly UntouchedEntry[];
}

export async function testPolicy(
  context: CliContext,
  files: readonly string[],
  options: PolicyTestOptions,
  json: boolean,
): Promise<void> {
  const { read, errors } = await readAll(context, files, options);
  if (errors.length > 0) return sayErrors(context, errors, json);
  const judge = await loadJudge();
  const runs: RunFile[] = [];
  for (const one of read) runs.push(await runFile(one.cases, one.policy, judge));
  const all = runs.flatMap(({ cases }) => cases);
  const failed = all.filter(({ differences }) => differences.length > 0).length;
  context.exitCode = failed === 0 ? exitCode.ok : exitCode.failure;
  if (json) return printJson(context, { passed: all.length - failed, failed, files: runs.map(asData) });
  for (const run of runs) report(context, run);
  const { green, red } = context.colors;
  const sum = `${all.length} ${all.length === 1 ? 'case' : 'cases'}: ${all.length - failed} passed, ${failed} failed.`;
  context.print(failed === 0 ? green(sum) : red(sum));
}

interface ReadFile {
  readonly cases: PolicyCases;
  readonly policy: CompiledPolicy;
}

/** Every error of every file, and of the policies they name, at once. */
async function readAll(
  context: CliContext,
  files: readonly string[],
  { config }: PolicyTestOptions,
): Promise<{ read: ReadFile[]; errors: PolicyError[] }> {
  // Loaded only here: the other commands need neither the YAML parser nor the schema.
  const [{ findConfigFile, loadPolicy }, { readPolicyCases }, { thisMachine }] = await Promise.all([
    import('../policy/load/load-policy.ts'),
    import('../policy/cases/policy-cases.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  const machine = thisMachine();
  const loaded = new Map<string | null, PolicyResult>();
  const read: ReadFile[] = [];
  const errors: PolicyError[] = [];
  for (const file of files) {
    const path = resolve(context.cwd, file);
    const text = machine.readText(path);
    const result = text === null ? notReadable(file) : readPolicyCases(text, file);
    if (!result.ok) {
      errors.push(...result.errors);
      continue;
    }
    const { cases } = result;
    const named = config ?? (cases.policy === null ? undefined : resolve(dirname(path), cases.policy));
    const place = findConfigFile({ flag: named, env: context.env, cwd: context.cwd, home: machine.home });
    const policy = loaded.get(place) ?? (await loadPolicy(place, machine));
    const isNew = !loaded.has(place);
    loaded.set(place, policy);
    if (!policy.ok) {
      if (isNew) errors.push(...policy.errors);
      continue;
    }
    errors.push(...cases.unknownCredentials(new Set(policy.policy.credentials.keys())));
    read.push({ cases, policy: policy.policy });
  }
  return { read, errors };
}

function notReadable(file: string): { readonly ok: false; readonly errors: readonly PolicyError[] } {
  const message = 'the file cannot be read: check that it is there';
  return { ok: false, errors: [{ file, line: 1, column: 1, path: '', message }] };
}

async function sayErrors(context: CliContext, errors: readonly PolicyError[], json: boolean): Promise<void> {
  context.exitCode = exitCode.usage;
  if (json) return printJson(context, { errors });
  const { formatPolicyError } = await import('../policy/schema/policy-error.ts');
  for (const error of errors) context.print(printable(formatPolicyError(error)));
  context.say(`${errors.length} ${errors.length === 1 ? 'error' : 'errors'}: no case was run.`);
}

async function runFile(cases: PolicyCases, policy: CompiledPolicy, judge: JudgeCase): Promise<RunFile> {
  const { differences, untouchedEntries } = await import('../policy/cases/case-verdict.ts');
  const run: RunCase[] = [];
  for (const tried of cases.cases) {
    const judged = await judge(policy, tried);
    run.push({ ...judged, tried, differences: differences(tried, judged) });
  }
  const touched = new Set(run.flatMap((one) => one.touched.flatMap((rule) => rule.split(', '))));
  return { file: cases.file, policy: policy.origin, cases: run, untouched: untouchedEntries(policy, touched) };
}

function report(context: CliContext, { file, policy, cases, untouched }: RunFile): void {
  const { bold, green, red, yellow, dim } = context.colors;
  context.print(bold(`${printable(file)}, against ${printable(shown(context, policy))}`));
  for (const one of cases) {
    const name = printable(one.tried.name);
    if (one.differences.length === 0) {
      context.print(`  ${green('ok')}    ${name}  ${dim(printable(verdictOf(one)))}`);
      continue;
    }
    const more = [...one.differences, verdictOf(one), one.reason, ...one.hint.split('\n'), `${file}:${one.tried.line}`];
    const lines = more.filter((line) => line !== '').map((line) => `        ${printable(line)}`);
    context.print([`  ${red('FAIL')}  ${name}`, ...lines].join('\n'));
  }
  for (const { entry, line, what } of untouched) {
    const place = line === null ? '' : `, line ${line}`;
    context.print(`  ${yellow('note')}  no case touches ${entry} (${printable(what)}${place})`);
  }
}

function verdictOf({ outcome, code, rule, credential }: JudgedCase): string {
  if (outcome === 'refused') return `refused: ${code}, by ${rule}`;
  if (outcome === 'undecided') return 'undecided';
  const carries = credential === null ? '' : `, with the credential ${credential}`;
  return `${outcome === 'ask' ? 'held for a person' : 'allowed'} by ${rule}${carries}`;
}

function shown({ cwd }: CliContext, policy: string): string {
  const short = policy.startsWith('/') ? relative(cwd, policy) : policy;
  return short.startsWith('..') ? policy : short;
}

function asData({ file, policy, cases, untouched }: RunFile): object {
  const data = cases.map(({ tried, differences, touched: _, ...judged }) => ({
    name: tried.name,
    line: tried.line,
    passed: differences.length === 0,
    expected: tried.expect,
    ...judged,
    differences,
  }));
  return { file, policy, cases: data, untouched };
}
