// What the page is told, put together from the live feed and from what the admin API knows. Reads and counts; changes nothing.
// Holds names and sums, never a value of a credential.
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { placeOfRule } from '../../policy/explain/rule-place.ts';
import { sourceOf } from '../../policy/load/policy-source.ts';
import type { AdminPorts, PublicRecord } from '../admin/admin-ports.ts';
import type { FedRecord } from './fed-record.ts';
import { RecentRecords } from './recent-records.ts';
import { RefusalGroups } from './refusal-groups.ts';
import { SandboxLoad } from './sandbox-load.ts';
import type { GatewayView, PageState, RequestDetail, RulePlace, SandboxView } from './shapes.ts';
import { TrafficHistory } from './traffic-history.ts';

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
