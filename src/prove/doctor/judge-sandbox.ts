// One sandbox of the running gateway, judged: its registration, its proof and door, how long it lasts, what it may use, and
// what was refused to it lately with what would make that pass. Pure: the gateway's own answers are handed in.
import type { CheckResult, CredentialStatus, PublicRecord } from '../../gateway/admin/admin-ports.ts';
import { type DoctorFinding, findingsOf } from './finding.ts';

export interface RefusedRequest {
  readonly time: string;
  readonly method: string;
  readonly target: string;
  readonly code: string;
  readonly rule: string;
  readonly reason: string;
  /** What the gateway says to the same request now; null: it cannot be asked again. */
  readonly now: Pick<CheckResult, 'allowed' | 'code' | 'hint'> | null;
}

export interface SandboxFacts {
  readonly record: PublicRecord;
  readonly credentials: readonly CredentialStatus[];
  readonly refused: readonly RefusedRequest[];
  readonly nowMs: number;
  /** Whether the process that holds its namespace lives; null: it has no namespace. */
  readonly holderLives: boolean | null;
}

const hourMs = 3_600_000;
const { ok, warn, fail } = findingsOf('Sandbox');
const refusals = findingsOf('Refused lately');

export function judgeSandbox(facts: SandboxFacts): DoctorFinding[] {
  return [
    ok('registered', `${facts.record.id}, since ${text(facts.record.created_at)}`),
    judgeExpiry(facts),
    judgeDoor(facts),
    ok('repositories', describeRepositories(facts.record)),
    ...judgeCredentials(facts),
    ...facts.refused.map(judgeRefusal),
  ];
}

function judgeExpiry({ record, nowMs }: SandboxFacts): DoctorFinding {
  const until = text(record.expires_at);
  const left = Date.parse(until) - nowMs;
  const isFinal = record.expiry_is_final === true;
  const fix = isFinal ? 'it was registered with a fixed end: register it again' : `sallyport renew ${record.id}`;
  if (left <= 0) return fail('expiry', `it ended at ${until}`, fix);
  if (left < hourMs) return warn('expiry', `it ends at ${until}, in ${Math.ceil(left / 60_000)} minutes`, fix);
  return ok('expiry', `${until}${isFinal ? '; final' : '; each request extends it'}`);
}

function judgeDoor({ record, holderLives }: SandboxFacts): DoctorFinding {
  const proof = list(record.proof);
  if (holderLives === false) {
    const gone = `the process that held its network namespace (${pidOf(record)}) is gone`;
    return fail('door', gone, `the sandbox is gone: sallyport unregister ${record.id}`);
  }
  if (holderLives === true)
    return ok('door', `in its own network namespace (process ${pidOf(record)}); proof: ${proof}`);
  if (typeof record.socket === 'string') return ok('door', `${record.socket}; proof: ${proof}`);
  const address = typeof record.container_ip === 'string' ? ` from ${record.container_ip}` : '';
  return ok('door', `the proxy door${address}; proof: ${proof}`);
}

function describeRepositories({ repos, auth_mode: mode, allowed_branches: branches }: PublicRecord): string {
  const named = list(repos);
  if (named === '') return 'none';
  return `${named}; ${mode === 'user' ? 'pushes to any unprotected branch' : `pushes to ${list(branches) || 'no branch'}`}`;
}

function judgeCredentials({ record, credentials }: SandboxFacts): DoctorFinding[] {
  const granted = Array.isArray(record.credentials) ? record.credentials.map(String) : null;
  const usable = credentials.filter(({ name }) => granted === null || granted.includes(name));
  const set = usable.filter((one) => one.set && !one.error).map(({ name }) => name);
  const broken = usable.filter(({ error }) => typeof error === 'string' && error !== '');
  return [
    ok('credentials', `${set.join(', ') || 'none are set'}${granted === null ? ' (it may use all)' : ''}`),
    ...broken.map(({ name, error, source }) =>
      warn('credential', `${name} (${source}) cannot be had: ${error}`, 'repair its source: sallyport secret list'),
    ),
    ...(granted ?? [])
      .filter((name) => !usable.some((one) => one.name === name && one.set))
      .map((name) => warn('credential', `${name} is granted and not set`, `sallyport secret set ${name} < FILE`)),
  ];
}

/** A refusal is the door at work: a warning at most. */
function judgeRefusal({ time, method, target, code, rule, reason, now }: RefusedRequest): DoctorFinding {
  const says = `${method} ${target}: ${reason} (${code})`;
  const fix =
    now === null || now.code === 'undecided'
      ? `it is decided by: ${rule}`
      : now.allowed
        ? 'it would pass now: the policy has changed, or its body decides'
        : now.hint || `it is decided by: ${rule}`;
  return refusals.warn(time.replace(/^.*T(.*?)(?:\.\d+)?Z$/, '$1'), says, fix);
}

function pidOf({ namespace }: PublicRecord): string {
  const pid = typeof namespace === 'object' && namespace !== null ? Reflect.get(namespace, 'pid') : undefined;
  return String(pid ?? 'unknown');
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : '';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
