// What the page is told, put together from the live feed and from what the admin API knows. Reads and counts; changes nothing.
// Holds names and sums, never a value of a credential.
import { NewestMap } from '../../kit/newest-map.ts';
import { shortened } from '../../kit/text/unseen.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { placeOfRule } from '../../policy/explain/rule-place.ts';
import { sourceOf } from '../../policy/load/policy-source.ts';
import type { AdminPorts, PublicRecord } from '../admin/admin-ports.ts';
import { detached, type FedRecord, isRefused } from './fed-record.ts';
import { RecentRecords } from './recent-records.ts';
import { SandboxLoad } from './sandbox-load.ts';
import type {
  GatewayView,
  PageState,
  RefusalGroup,
  RequestDetail,
  RulePlace,
  SandboxView,
  TrafficPoint,
  TrafficView,
} from './shapes.ts';

export type DashboardPorts = Pick<
  AdminPorts,
  'list' | 'find' | 'unregister' | 'listCredentials' | 'health' | 'questions'
>;

export interface PageSources {
  readonly ports: DashboardPorts;
  /** The policy in force. */
  readonly policy: () => CompiledPolicy;
  readonly isLearning: (sandbox: string) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The parts of the page's state that are told as they change. */
export type SharedState = Omit<PageState, 'requests'>;
export type PartName = keyof SharedState;

const requestsShown = 200;

export class PageData {
  readonly #sources: PageSources;
  readonly #recent = new RecentRecords();
  readonly #refusals = new RefusalGroups();
  readonly #traffic: TrafficHistory;
  readonly #load: SandboxLoad;
  #policy: CompiledPolicy;
  /** What came before that may have been decided by another policy. */
  #sinceMs = 0;

  constructor(sources: PageSources) {
    this.#sources = sources;
    this.#policy = sources.policy();
    this.#traffic = new TrafficHistory(sources.now);
    this.#load = new SandboxLoad(sources.now);
  }

  /** One more request has ended. Called on the path of every request: counts, and no more. */
  take(record: FedRecord): void {
    const place = this.#placeOf(record);
    this.#recent.add(record, place);
    this.#refusals.add(record, place);
    this.#traffic.add(record);
    this.#load.add(record);
  }

  async state(): Promise<PageState> {
    return {
      gateway: this.#gateway(),
      sandboxes: await this.#sandboxes(),
      credentials: this.#sources.ports.listCredentials(),
      questions: this.#sources.ports.questions.list(),
      approvals: this.#sources.ports.questions.approvals(),
      refusals: this.#refusals.list(),
      traffic: this.#traffic.view(),
      requests: this.#recent.newest(requestsShown),
    };
  }

  async part<Name extends PartName>(name: Name): Promise<SharedState[Name]> {
    const { ports } = this.#sources;
    const make: { readonly [Part in PartName]: () => SharedState[Part] | Promise<SharedState[Part]> } = {
      gateway: () => this.#gateway(),
      sandboxes: () => this.#sandboxes(),
      credentials: () => ports.listCredentials(),
      questions: () => ports.questions.list(),
      approvals: () => ports.questions.approvals(),
      refusals: () => this.#refusals.list(),
      traffic: () => this.#traffic.view(),
    };
    return make[name]();
  }

  /** Null: it is not among the newest any more. */
  request(id: string): RequestDetail | null {
    return this.#recent.find(id);
  }

  /** In the policy that decided: after a change `allow[2]` is another line. Null: none, or it would be a guess. */
  #placeOf({ rule, time }: FedRecord): RulePlace | null {
    const policy = this.#sources.policy();
    if (policy !== this.#policy) {
      this.#policy = policy;
      this.#sinceMs = sourceOf(policy)?.madeAtMs ?? 0;
    }
    if (rule === null || (this.#sinceMs > 0 && Date.parse(time) <= this.#sinceMs)) return null;
    return placeOfRule(policy, rule);
  }

  #gateway(): GatewayView {
    const { version, config, ready, doors, controls, warnings } = this.#sources.ports.health();
    return { version, config, ready, doors, controls, warnings, nowMs: this.#sources.now() };
  }

  async #sandboxes(): Promise<SandboxView[]> {
    const { tokens, microDollars } = this.#sources.policy().budgets.sandbox;
    const budget = { tokens, dollars: microDollars / 1_000_000 };
    const records = await this.#sources.ports.list();
    return records.map((record) => ({
      ...asView(record),
      isLearning: this.#sources.isLearning(record.id),
      load: this.#load.of(record.id),
      budget,
    }));
  }
}

/** A registration, in the contract's spelling, as the page shows it. */
function asView(record: PublicRecord): Omit<SandboxView, 'isLearning' | 'load' | 'budget'> {
  const spent = asMap(record.spent);
  return {
    id: record.id,
    proof: texts(record.proof),
    container: text(asMap(record.container).name) ?? text(record.container_id),
    address: text(record.container_ip),
    repos: texts(record.repos),
    branches: texts(record.allowed_branches),
    authMode: text(record.auth_mode) ?? '',
    credentials: Array.isArray(record.credentials) ? texts(record.credentials) : null,
    createdAt: text(record.created_at) ?? '',
    expiresAt: text(record.expires_at) ?? '',
    spent: { period: text(spent.period) ?? '', tokens: number(spent.tokens), dollars: number(spent.dollars) },
  };
}

function asMap(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

// Refusals grouped by code and rule, each group with its latest request. Bounded: when there are too many groups, the one that
// was quiet longest is dropped; when a group has too many sandboxes, the newest stay.
const usualGroups = 200;
const maxSandboxes = 20;
const maxText = 300;

export class RefusalGroups {
  /** In order of the last refusal. */
  readonly #groups: NewestMap<string, RefusalGroup>;

  constructor(maxGroups = usualGroups) {
    this.#groups = new NewestMap(maxGroups);
  }

  add(record: FedRecord, place: RulePlace | null = null): void {
    if (!isRefused(record)) return;
    const code = record.code ?? 'unknown';
    const rule = short(record.rule ?? '');
    const key = detached(`${code} ${rule}`);
    const known = this.#groups.get(key);
    this.#groups.set(key, {
      code,
      rule: known?.rule ?? detached(rule),
      count: (known?.count ?? 0) + 1,
      lastAt: record.time,
      sandboxes: withNewest(known?.sandboxes ?? [], record.sandbox),
      example: detached(short(`${record.method} ${record.scheme}://${record.host}${portOf(record)}${record.path}`)),
      reason: detached(record.reason ?? ''),
      hint: detached(record.hint ?? ''),
      place,
    });
  }

  /** The most frequent first. */
  list(): RefusalGroup[] {
    return [...this.#groups.values()].reverse().sort((a, b) => b.count - a.count);
  }
}

function withNewest(sandboxes: readonly string[], sandbox: string | null): readonly string[] {
  if (sandbox === null || sandboxes.at(-1) === sandbox) return sandboxes;
  return [...sandboxes.filter((one) => one !== sandbox), detached(sandbox)].slice(-maxSandboxes);
}

function portOf({ scheme, port }: FedRecord): string {
  return port === (scheme === 'https' ? 443 : 80) ? '' : `:${port}`;
}

function short(text: string): string {
  return shortened(text, maxText);
}

// How much passed over the last hour, in steps of ten seconds: sums alone, in a ring of fixed size. Time is the gateway's.
const stepMs = 10_000;
const steps = 360;

type Sums = { -readonly [Key in keyof TrafficPoint]: number };

export class TrafficHistory {
  readonly #now: () => number;
  readonly #ring: (Sums | undefined)[] = new Array<Sums | undefined>(steps);

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  add(record: FedRecord): void {
    const sums = this.#sumsOf(this.#step());
    sums.requests++;
    if (isRefused(record)) sums.refused++;
    sums.bytesIn += record.bytes_in;
    sums.bytesOut += record.bytes_out;
    sums.tokens += record.tokens_in + record.tokens_out;
    sums.dollars += record.cost_usd;
  }

  /** Every step of the hour, also those in which nothing passed. */
  view(): TrafficView {
    const last = this.#step();
    const points: TrafficPoint[] = [];
    for (let step = last - steps + 1; step <= last; step++) {
      const kept = this.#ring[step % steps];
      points.push(kept?.atMs === step * stepMs ? { ...kept } : nothingAt(step));
    }
    return { stepSeconds: stepMs / 1000, points };
  }

  #step(): number {
    return Math.floor(this.#now() / stepMs);
  }

  #sumsOf(step: number): Sums {
    const kept = this.#ring[step % steps];
    if (kept !== undefined && kept.atMs === step * stepMs) return kept;
    const fresh = nothingAt(step);
    this.#ring[step % steps] = fresh;
    return fresh;
  }
}

function nothingAt(step: number): Sums {
  return { atMs: step * stepMs, requests: 0, refused: 0, bytesIn: 0, bytesOut: 0, tokens: 0, dollars: 0 };
}
