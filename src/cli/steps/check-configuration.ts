// What a configuration says to one request, without a gateway: for `sallyport check` where none runs. The judgement is that of
// the path (the one behind `policy test`); no server is asked, so what only GitHub knows is undecided.
import { resolve } from 'node:path';
import type { CheckResult } from '../../gateway/admin/admin-ports.ts';
import { loadJudge } from '../../gateway/load-service.ts';
import { type RefusalCode, refusalStatus } from '../../path/refusal.ts';
import type { JudgedCase } from '../../policy/cases/case-verdict.ts';
import type { PolicyCase } from '../../policy/cases/policy-cases.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';

export interface AskedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Record<string, string[]>;
  readonly body?: string;
}

/** `file`: undefined for the one that `up` would use. */
export async function askConfiguration(
  { cwd, env }: Pick<CliContext, 'cwd' | 'env'>,
  asked: AskedRequest,
  file: string | undefined,
): Promise<{ readonly result: CheckResult; readonly origin: string }> {
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../../policy/load/load-policy.ts'),
    import('../../policy/schema/policy-error.ts'),
    import('../../policy/load/machine-files.ts'),
  ]);
  const machine = thisMachine(env);
  const flag = file === undefined ? undefined : resolve(cwd, file);
  const loaded = await loadPolicy(findConfigFile({ flag, env, cwd, home: machine.home }), machine);
  if (!loaded.ok) {
    const errors = loaded.errors.map(formatPolicyError).join('\n');
    throw new CommandFailed(exitCode.usage, `the configuration is not valid:\n${errors}`);
  }
  const { policy } = loaded;
  const judge = await loadJudge();
  return { result: resultOf(await judge(policy, caseOf(asked))), origin: policy.origin };
}

/** As for any sandbox: every credential, no repository. */
function caseOf({ method, url, headers = {}, body }: AskedRequest): PolicyCase {
  const sandbox = { repos: [], authMode: 'bot', allowedBranches: [], credentials: null } as const;
  const asked = { kind: 'request', method, url, headers, body: body ?? null } as const;
  return { name: url, line: 0, sandbox, asked, expect: 'allowed', code: null, rule: null, credential: undefined };
}

function resultOf({ outcome, code, rule, reason, hint, credential }: JudgedCase): CheckResult {
  const none = { rule, reason, hint, credential: null };
  if (outcome === 'undecided') {
    const next = rule === 'built-in: asked of GitHub' ? 'A running gateway asks GitHub: sallyport up' : hint;
    return { ...none, hint: next, allowed: false, status: 0, code: 'undecided' };
  }
  if (outcome === 'refused') return { ...none, allowed: false, status: statusOf(code), code: code ?? '' };
  const asksFirst = outcome === 'ask' ? `; a person is asked first (${rule})` : '';
  return { allowed: true, status: 200, code: 'allowed', rule, reason: `${reason}${asksFirst}`, hint, credential };
}

function statusOf(code: string | null): number {
  return code !== null && Object.hasOwn(refusalStatus, code) ? refusalStatus[code as RefusalCode] : 403;
}
