// May this sandbox make this request, by which rule, with which credential: one pure function for the path,
// `sallyport check` and the admin API. Throws a Refusal for no; an exception in a rule is a no as well.
import type { HeaderList } from '../../path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { insideHost } from '../../path/inside-host.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { AllowRule, CompiledPolicy } from '../../policy/compiled.ts';
import { findAllowRule, hostNotAllowed } from './allow-rules.ts';
import { refuseBareUpgrade } from './bare-requests.ts';
import { refuseHiddenSource } from './copy-source.ts';
import { chooseCredential } from './credential-choice.ts';
import { refuseDnsOverHttps } from './dns-over-https.ts';
import { type FoundGit, findGitRequest, refusePushToUnmarkedHost } from './git/git-request.ts';
import { judgeRest } from './github/judge-rest.ts';
import { type GithubPlace, githubPlace } from './github-place.ts';
import { judgedMethods } from './judged-methods.ts';
import { hidesABoundary, readingsOf } from './path-forms.ts';
import { refuseBlockedApi } from './refuse-blocked-api.ts';
import { decideHostPort } from './tcp/decide-host-port.ts';
import { decideTcp, onlyTcp } from './tcp/decide-tcp.ts';
import { decideConnect, decideTunnel } from './tunnel-rules.ts';

export function decide(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): Permission {
  try {
    if (canonical.host === insideHost) return decideInside(canonical);
    if (canonical.kind === 'connect') return decideConnect(policy, sandbox, canonical);
    if (canonical.kind === 'tcp') return decideTcp(policy, sandbox, canonical);
    if (canonical.kind === 'host-port') return decideHostPort(policy, sandbox, canonical);
    if (canonical.kind === 'tunnel') return decideTunnel(policy, sandbox, canonical);
    if (canonical.kind === 'lookup') return decideLookup(policy, sandbox, canonical);
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
  const plain = policy.tcpFor(canonical.host);
  if (plain.length > 0 && policy.rulesFor(canonical.host).length === 0) throw onlyTcp(plain, canonical);
  const methods = judgedMethods(canonical.method, headers);
  const rules = methods.map((method) => findAllowRule(policy, sandbox, canonical, method));
  const permission = permit(policy, sandbox, canonical, headers, methods, rules[0]!);
  if (rules.some((rule) => !mayCarry(rule, permission))) {
    const rulesFor = (host: string) => policy.rulesFor(host).filter((rule) => mayCarry(rule, permission));
    return decideRequest({ ...policy, rulesFor }, sandbox, canonical, headers);
  }
  // Every method it may turn into must have a rule; a person is asked when one of them says so.
  const asking = rules.find(({ ask }) => ask);
  const asked = asking === undefined ? permission : { ...permission, askedBy: asking.name };
  if (!rules.some(({ bare }) => bare)) return asked;
  refuseBareUpgrade(canonical);
  return { ...asked, credential: null };
}

/** What a person has approved with one credential, or with none, is not approved with another. */
function mayCarry({ carries }: AllowRule, { credential }: Permission): boolean {
  return carries === undefined || credential === null || carries === credential;
}

function permit(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
  methods: readonly string[],
  rule: AllowRule,
): Permission {
  refuseDnsOverHttps(canonical, headers);
  refuseBesideTokenEndpoint(policy, canonical);
  refuseHiddenSource(policy, sandbox, canonical, headers);
  const github = githubPlace(policy, canonical);
  for (const method of methods) refuseBlockedApi(policy, canonical, method, github);
  const servesGit = github?.part === 'site' || policy.gitHosts.has(canonical.host);
  if (github !== null && github.part !== 'api') refuseHiddenSlash(canonical);
  if (servesGit) {
    const found = findGitRequest(policy, sandbox, canonical, methods);
    if (found !== null) return permitGit(policy, sandbox, canonical, rule, found);
  } else if (github?.part !== 'api') refusePushToUnmarkedHost(canonical);
  if (github?.part === 'api') return permitApi(policy, sandbox, canonical, rule, github, methods);
  if (github !== null) return readAsAnybody(canonical, rule, methods);
  const credential = chooseCredential(policy, sandbox, canonical);
  return { rule: rule.name, tunnel: false, credential, git: null, github: null, repository: null };
}

function permitApi(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  rule: AllowRule,
  { prefix }: GithubPlace,
  methods: readonly string[],
): Permission {
  const decision = judgeRest(policy, sandbox, canonical, canonical.rawPath.slice(prefix.length), methods);
  const credential = decision.mayCarry ? chooseCredential(policy, sandbox, canonical) : null;
  const { github, repository } = decision;
  const askedBy = decision.isAsked ? { askedBy: `github.effects.${sandbox.authMode}.ask` } : {};
  return { rule: rule.name, tunnel: false, credential, git: null, github, repository, ...askedBy };
}

/** The pages of GitHub and its content hosts: open to read as anybody could, without our credential; nothing else. */
function readAsAnybody(canonical: CanonicalRequest, rule: AllowRule, methods: readonly string[]): Permission {
  if (methods.every((method) => method === 'GET' || method === 'HEAD')) {
    return { rule: rule.name, tunnel: false, credential: null, git: null, github: null, repository: null };
  }
  throw new Refusal(
    'repo.operation-not-judged',
    `${canonical.method} ${canonical.path} is neither git nor an API call: it may only be read`,
    {
      rule: 'built-in: only what can be judged',
      hint: 'Web pages may be read. To change a repository, use git or the API.',
    },
  );
}

/** The repository is allowed; what a push or an upload carries is judged when its body is here. */
function permitGit(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  { name }: AllowRule,
  { request, isPublicFetch }: FoundGit,
): Permission {
  const rule = isPublicFetch ? 'git.public_fetch' : name;
  // The storage gets its own credential, which is behind the ticket.
  const mayCarry = !isPublicFetch && request.operation !== 'lfs-object';
  const credential = mayCarry ? chooseCredential(policy, sandbox, canonical) : null;
  return { rule, tunnel: false, credential, git: request, github: null, repository: request.repository };
}

function refuseHiddenSlash(canonical: CanonicalRequest): void {
  if (!hidesABoundary(canonical)) return;
  throw new Refusal('path.not-allowed', `the path ${canonical.rawPath} hides a slash (%2F)`, {
    rule: 'built-in: one reading of a repository',
    hint: 'Write it as a plain slash. With %2F the server could see another repository than the gateway does.',
  });
}

function brokenRule(cause: unknown): Refusal {
  return new Refusal('policy.error', 'a rule of the policy could not be evaluated, so the request is refused', {
    rule: 'built-in: an error is a refusal',
    hint: 'The operator finds the cause in the log of the gateway.',
    cause,
  });
}

// Nothing near the token endpoint of a login is forwarded, whichever rule covers it: another spelling of the endpoint, or
// another flow beside it, would hand out a login. The gateway answers the endpoint itself.
// Guards: threats.md T82
function refuseBesideTokenEndpoint({ tokenEndpoints }: CompiledPolicy, canonical: CanonicalRequest): void {
  const { host, method, path } = canonical;
  if (tokenEndpoints.at(host, path) !== undefined) return;
  for (const reading of readingsOf(canonical)) {
    // A reading that is the endpoint, of a path that is not answered as such, is one more spelling of it.
    const found = tokenEndpoints.beside(host, reading) ?? tokenEndpoints.at(host, reading);
    if (found === undefined) continue;
    throw new Refusal(
      'token.login-outside',
      `${method} ${host}${path} is too close to ${found.endpoint.path}, where a login gets its tokens`,
      {
        rule: `credentials.${found.spec.name}`,
        hint: `The gateway itself answers ${found.endpoint.path} and forwards nothing near it. Log in outside the sandbox: the gateway uses that login and renews it.`,
      },
    );
  }
}

// sallyport.internal: the name under which the door answers a sandbox about itself. Every sandbox may ask there, no rule of the
// policy has a say in it, and no credential goes there: nothing that is sent to it leaves the gateway.
const insideRule = `built-in: ${insideHost} is the gateway itself`;

/** For every kind of request, names and tunnels included: otherwise a rule for `*` could make something else of it. */
function decideInside(canonical: CanonicalRequest): Permission {
  const { kind, port } = canonical;
  if (kind === 'lookup') refuseTalkingType(canonical);
  else if (port !== 80 && port !== 443) {
    throw new Refusal('target.port', `${insideHost} answers on ports 80 and 443, not on ${port}`, {
      rule: insideRule,
      hint: `Use http://${insideHost}/ or https://${insideHost}/.`,
    });
  }
  // What is not decrypted cannot be answered, and there is nobody behind it to pass it on to.
  if (kind === 'tunnel') {
    throw new Refusal(
      'domain.not-allowed',
      `${insideHost} is answered by the gateway itself and cannot be reached through an undecrypted tunnel`,
      {
        rule: insideRule,
        hint: `Use http://${insideHost}/, or https with the certificates that the sandbox was given.`,
      },
    );
  }
  return { rule: insideRule, tunnel: false, credential: null, git: null, github: null, repository: null, inside: true };
}

// DNS: may this sandbox know that this name exists. It may when any rule of the allowlist covers the host, whatever the
// rule says of ports, methods and paths: those are judged when it comes to the door. Never resolves anything.
/** Records that carry free text or everything at once: the ways to talk over DNS. */
const refusedType = /^\/(?:ANY|TXT|NULL|AXFR|IXFR|TYPE\d+)$/;

function decideLookup(policy: CompiledPolicy, sandbox: Sandbox, canonical: CanonicalRequest): Permission {
  const rule = policy.rulesFor(canonical.host)[0] ?? policy.tcpFor(canonical.host)[0];
  if (rule === undefined) throw hostNotAllowed(policy, sandbox, canonical);
  refuseTalkingType(canonical);
  return { rule: rule.name, tunnel: false, credential: null, git: null, github: null, repository: null };
}

function refuseTalkingType({ host, path }: CanonicalRequest): void {
  if (!refusedType.test(path)) return;
  throw new Refusal('method.not-allowed', `${path.slice(1)} records are not looked up for a sandbox (${host})`, {
    rule: 'built-in: DNS tells addresses only',
    hint: 'Ask for A or AAAA records. You need no others to reach a host through the gateway.',
  });
}
