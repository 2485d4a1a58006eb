// A request that a person must approve waits here, its body unread wherever its head says what it does. What was shown is
// what goes on: afterwards it is judged anew, by the policy in force then. Never forwards anything.
import { shortened } from '../../kit/text/unseen.ts';
import type { Asked, Asking, ShownEffect, Verdict } from '../../path/approvals.ts';
import { ClientGone } from '../../path/exchange/client-gone.ts';
import type { Identified, Permission } from '../../path/flow.ts';
import type { GithubEffect } from '../../path/github-effects.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { judgedMethods } from './judged-methods.ts';
import { beginWaiting } from './limits/waiting-time.ts';
import { hidesABoundary } from './path-forms.ts';

/** What people have approved for one sandbox for a while. */
export interface ApprovalsPort {
  policyFor(policy: CompiledPolicy, sandboxId: string): CompiledPolicy;
  coversEffect(sandboxId: string, about: ShownEffect): boolean;
}

export interface PersonPorts {
  readonly asking: Asking;
  readonly approvals: ApprovalsPort;
  /** Takes real credentials out of texts that a sandbox can influence. */
  readonly clean?: (text: string) => string;
  /** Throws what a request that came only now would be refused with before it is judged: it may have waited for long. */
  readonly demandServed?: (sandbox: Sandbox) => void;
}

/** A decision and the policy it was made by. */
export interface Judged {
  readonly policy: CompiledPolicy;
  readonly permission: Permission;
}

/** What of GitHub's effects is asked about; null: another rule asks. */
export interface AskedEffect {
  readonly effect: GithubEffect;
  readonly repository: string | null;
}

/** What was found in a body that was read whole. */
export interface FoundEffects {
  readonly effects: readonly GithubEffect[];
  readonly repositories: readonly (string | null)[];
  readonly bodyBytes: number;
}

const maxPath = 1024;
/** It is kept while it waits. Twice what a comment on GitHub may have. */
const maxHeldBody = 128 * 1024;

/** The effect that a person must be asked about now; null: none. `said`: what was said yes to for this very request. */
export function effectToAsk(
  ports: PersonPorts,
  { sandbox, canonical }: Identified,
  { policy, permission }: Judged,
  { effects, repositories }: Pick<FoundEffects, 'effects' | 'repositories'>,
  said: ReadonlySet<string> = new Set(),
): AskedEffect | null {
  const asks = policy.githubAsks[sandbox.authMode];
  const { scheme, host, port } = canonical;
  const { credential } = permission;
  for (const effect of effects) {
    if (!asks.has(effect)) continue;
    for (const repository of repositories.length === 0 ? [null] : repositories) {
      if (said.has(yesTo({ effect, repository }, permission))) continue;
      const about = { scheme, host, port, effect, repository, credential };
      if (!ports.approvals.coversEffect(sandbox.id, about)) return { effect, repository };
    }
  }
  return null;
}

/** Another credential than the one that was shown is another question. */
function yesTo({ effect, repository }: AskedEffect, { credential }: Permission): string {
  return JSON.stringify([effect, repository, credential]);
}

/**
 * Asks about the first of the effects that a body has and nobody has said yes to; it is to be judged anew then, and to be
 * asked about the next: each of them is a question of its own. False: there is none left. `said` is kept by the caller.
 */
export async function askAboutEffect(
  flow: Identified,
  judged: Judged,
  found: FoundEffects,
  said: Set<string>,
  ports: PersonPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const about = effectToAsk(ports, flow, judged, found, said);
  if (about === null) return false;
  if (found.bodyBytes > maxHeldBody) throw tooLargeToHold();
  await askPerson(flow, judged.permission, effectRule(flow), about, ports, signal);
  said.add(yesTo(about, judged.permission));
  return true;
}

/** The name of the setting that asks about effects. */
export function effectRule({ sandbox }: Identified): string {
  return `github.effects.${sandbox.authMode}.ask`;
}

/** Resolves when a person has said yes. Throws the refusal, or ClientGone. */
export async function askPerson(
  flow: Identified,
  permission: Permission,
  rule: string,
  about: AskedEffect | null,
  ports: PersonPorts,
  signal: AbortSignal,
): Promise<void> {
  const asked = askedOf(flow, permission, rule, about, ports.clean ?? ((text) => text));
  const endWaiting = beginWaiting(flow.trail);
  let verdict: Verdict;
  try {
    verdict = await ports.asking.ask(asked, signal);
  } finally {
    endWaiting();
  }
  if (signal.aborted || (!verdict.granted && verdict.why === 'gone')) {
    flow.trail.mark('ask', 'withdrawn');
    throw new ClientGone();
  }
  if (verdict.granted) {
    flow.trail.mark('ask', plainWord(verdict.how));
    ports.demandServed?.(flow.sandbox);
    return;
  }
  const refusal = refusalOf(verdict, asked);
  flow.trail.mark('ask', refusal.code);
  throw refusal;
}

/** A program that answers may name whoever it likes; a trail is written into the journal without quotes or escapes. */
function plainWord(how: string): string {
  return how.slice(0, 128).replace(/[^\w.:/ -]/g, '_');
}

/** The same that holds the body of an HTTP request back: until it is called off by the client. */
export function whileClientWaits({ exchange }: Identified): { readonly signal: AbortSignal; end(): void } {
  const gone = new AbortController();
  const abandoned = (): void => gone.abort();
  exchange.onAbandoned = abandoned;
  return {
    signal: gone.signal,
    end() {
      if (exchange.onAbandoned === abandoned) exchange.onAbandoned = null;
    },
  };
}

function askedOf(
  flow: Identified,
  permission: Permission,
  rule: string,
  about: AskedEffect | null,
  clean: (text: string) => string,
): Asked {
  const { canonical, sandbox, requestId } = flow;
  const { github } = permission;
  // Of GraphQL its effects are known only when its body was judged.
  const known = github !== null && github.operation !== 'graphql' ? github.effect : null;
  return {
    sandbox: sandbox.id,
    method: shownMethod(flow),
    scheme: canonical.scheme,
    host: clean(canonical.host),
    port: canonical.port,
    path: canonical.kind === 'tunnel' ? '' : capped(clean(isShownRaw(canonical) ? canonical.rawPath : canonical.path)),
    query: canonical.kind === 'tunnel' || canonical.query === null ? null : capped(clean(canonical.query)),
    rule,
    credential: permission.credential,
    effect: about?.effect ?? known,
    repository: about === null ? permission.repository : about.repository,
    requestId,
    reason: null,
  };
}

/** Decoded, its `?` would look like the beginning of a query. */
function isShownRaw(canonical: Identified['canonical']): boolean {
  return hidesABoundary(canonical) || /[?#]/.test(canonical.path);
}

/** All that it may turn out to be: `POST (as DELETE)`, `GET (WebSocket)`, `GET (WebSocket, as DELETE)`. */
function shownMethod({ canonical, request }: Identified): string {
  if (canonical.kind === 'tunnel') return canonical.method;
  const [own, ...others] = new Set(judgedMethods(canonical.method, request.headers));
  const more = [
    ...(canonical.kind === 'websocket' ? ['WebSocket'] : []),
    ...(others.length === 0 ? [] : [`as ${others.join(', ')}`]),
  ];
  return more.length === 0 ? own! : capped(`${own} (${more.join(', ')})`);
}

function capped(text: string): string {
  return shortened(text, maxPath);
}

function tooLargeToHold(): Refusal {
  return new Refusal(
    'limit.body-size',
    `a person must approve this request, and such a request may have at most ${maxHeldBody} bytes`,
    {
      rule: 'built-in: bounded waiting',
      hint: 'Send less at a time.',
    },
  );
}

function refusalOf(verdict: Extract<Verdict, { granted: false }>, { rule, host }: Asked): Refusal {
  switch (verdict.why) {
    case 'denied':
      return new Refusal('approval.denied', `a person was asked about this request to ${host} and said no`, {
        rule,
        hint: 'Do without it, or tell the user why it is needed before you try again.',
      });
    case 'nobody-answered':
      return new Refusal('approval.unanswered', `a person was asked about this request to ${host} and did not answer`, {
        rule,
        hint: 'Try again when the user is there: it waits until they approve or deny it (`sallyport approve`).',
      });
    case 'too-many':
      return new Refusal('approval.too-many', 'too many requests wait for a person already', {
        rule,
        hint: 'Wait until some of them are answered. The operator can raise approvals.held and held_per_sandbox.',
        retryAfterSeconds: 30,
      });
    default:
      return new Refusal(
        'approval.unwatched',
        `a person must approve this request to ${host}, and nobody is watching`,
        {
          rule,
          hint: 'Ask the user to open the dashboard or to run `sallyport watch`, and send it again.',
        },
      );
  }
}
