// May this sandbox make this request, by which rule, with which credential: one pure function for the path,
// `sallyport check` and the admin API. Throws a Refusal for no; an exception in a rule is a no as well.
import type { CanonicalRequest, Permission } from '../flow/flow.ts';
import type { HeaderList } from '../flow/header-list.ts';
import { Refusal } from '../flow/refusal.ts';
import type { Sandbox } from '../flow/sandbox.ts';
import type { AllowRule, CompiledPolicy } from '../policy/compiled.ts';
import { findAllowRule } from './allow-rules.ts';
import { chooseCredential } from './credential-choice.ts';
import { refuseDnsOverHttps } from './dns-over-https.ts';
import { type GithubPlace, githubPlace } from './github-place.ts';
import { judgedMethods } from './judged-methods.ts';
import { refuseBlockedApi } from './refuse-blocked-api.ts';
import { judgeRepository } from './repository.ts';
import { decideConnect, decideTunnel } from './tunnel-rules.ts';

export function decide(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): Permission {
  try {
    if (canonical.kind === 'connect') return decideConnect(policy, sandbox, canonical);
    if (canonical.kind === 'tunnel') return decideTunnel(policy, sandbox, canonical);
    return decideRequest(policy, sandbox, canonical, headers);
  } catch (error) {
    throw error instanceof Refusal ? error : brokenRule(error);
  }
}

/** The order is the order of the answers: what a sandbox is told first is what it must change first. */
function decideRequest(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): Permission {
  const methods = judgedMethods(canonical.method, headers);
  const rule = allowedBy(policy, sandbox, canonical, methods);
  refuseDnsOverHttps(canonical, headers);
  const github = githubPlace(policy, canonical);
  for (const method of methods) refuseBlockedApi(policy, canonical, method, github);
  const mayCarry = github === null || staysInItsRepositories(github, sandbox, canonical, methods);
  const credential = mayCarry ? chooseCredential(policy, sandbox, canonical) : null;
  return { rule: rule.name, tunnel: false, credential };
}

/** The rule for the request's own method; every other method it may turn into must have one too. */
function allowedBy(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  methods: readonly string[],
): AllowRule {
  const rules = methods.map((method) => findAllowRule(policy, sandbox, canonical, method));
  return rules[0]!;
}

function staysInItsRepositories(
  github: GithubPlace,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  methods: readonly string[],
): boolean {
  let mayCarry = true;
  for (const method of methods) mayCarry = judgeRepository(github, sandbox, canonical, method) && mayCarry;
  return mayCarry;
}

function brokenRule(cause: unknown): Refusal {
  return new Refusal('policy.error', 'a rule of the policy could not be evaluated, so the request is refused', {
    rule: 'built-in: an error is a refusal',
    hint: 'The operator finds the cause in the log of the gateway.',
    cause,
  });
}
