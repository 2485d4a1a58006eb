// Puts together what the admin API can do: registrations, credentials, checks, health, the journal. It decides nothing
// itself; `check` runs the same code as the path.
import * as z from 'zod';
import type { Authorized } from '../path/flow.ts';
import { Refusal } from '../path/refusal.ts';
import type { Sandbox } from '../path/sandbox.ts';
import { explainPolicy, type PolicySection } from '../policy/explain/explain-policy.ts';
import { readJournal } from '../stages/audit/journal/read-journal.ts';
import type { ApprovalsPort } from '../stages/authorize/ask-person.ts';
import type { LfsTickets } from '../stages/authorize/git/lfs/lfs-tickets.ts';
import type { GithubPorts } from '../stages/authorize/github/github-ports.ts';
import type { ModelBudget } from '../stages/authorize/limits/budget.ts';
import { type SandboxRecord, toPublic } from '../stages/identify/registry/sandbox-record.ts';
import type { InjectStage } from '../stages/inject/inject-stage.ts';
import { SecretRejected } from '../stages/inject/secret-store.ts';
import { AdminError } from './admin/admin-error.ts';
import type { AdminPorts, CheckResult, HealthReport, PublicRecord } from './admin/admin-ports.ts';
import { rehearse } from './decisions/rehearse.ts';
import { beginPublished, createPortsApi, type PortsParts, takePorts } from './ports/ports-api.ts';
import { type GrantParts, grantDoor, takeKnownCa } from './sandboxes/sandbox-grant.ts';

export interface AdminApiParts extends GrantParts, PortsParts {
  readonly inject: Pick<InjectStage, 'preview'>;
  readonly github: GithubPorts;
  readonly lfsTickets: Pick<LfsTickets, 'find'>;
  readonly budget: Pick<ModelBudget, 'spentBy'>;
  /** A value was set by hand, or (null) removed: resolves when that holds in every process. */
  readonly credentialChanged: (name: string, value: string | null) => Promise<void>;
  readonly health: () => HealthReport;
  readonly metrics: () => Promise<string>;
  readonly journalDirectory: string;
  /** What people are asked and answer. */
  readonly people: Pick<AdminPorts, 'questions' | 'startLearning'> & { readonly approvals: ApprovalsPort };
  readonly dashboardAddress: AdminPorts['dashboardAddress'];
  readonly openDashboard: AdminPorts['openDashboard'];
  readonly join: AdminPorts['join'];
}

const fieldValue = z.string().max(16_384);
const checkInput = z.strictObject({
  sandbox: z.string().max(256).optional(),
  method: z.string().min(1).max(32),
  url: z.string().min(1).max(65_536),
  headers: z.record(z.string().max(256), z.union([fieldValue, z.array(fieldValue).max(256)])).optional(),
  body: z.string().optional(),
});

/** Stands in when `check` names no sandbox: it may use every credential and no repository. */
const anySandbox: Sandbox = {
  id: '(any sandbox)',
  containerIp: null,
  containerId: null,
  repos: [],
  authMode: 'bot',
  allowedBranches: [],
  credentials: null,
  proof: [],
  createdAt: '',
};

export function createAdminApi(parts: AdminApiParts): AdminPorts {
  const { registry, secrets } = parts;
  return {
    async register(asked) {
      const { input: without, ports } = takePorts(asked);
      const { input, known } = takeKnownCa(without);
      const { record, secret } = await registry.register(input);
      const granted = await grantDoor(parts, record, secret, known);
      const published = await beginPublished(parts, record, ports);
      return { record: toPublic(record), proof: { ...granted, ...(published.length > 0 && { published }) } };
    },
    list: () => Promise.all(registry.list().map((record) => withSpending(parts, record))),
    find: async (idOrIp) => {
      const record = registry.find(idOrIp);
      return record === null ? null : withSpending(parts, record);
    },
    unregister: (idOrIp) => registry.remove(idOrIp),
    renew: async (id) => toPublic(await registry.renew(id)),
    async setCredential(name, value) {
      answering(() => secrets.set(name, value));
      await parts.credentialChanged(name, value);
    },
    async removeCredential(name) {
      const had = answering(() => secrets.remove(name));
      await parts.credentialChanged(name, null);
      return had;
    },
    listCredentials: () => secrets.list(),
    check: (input) => check(parts, input),
    health: parts.health,
    metrics: parts.metrics,
    audit: (filter) => readJournal(parts.journalDirectory, filter),
    questions: parts.people.questions,
    startLearning: parts.people.startLearning,
    ...createPortsApi(parts),
    dashboardAddress: parts.dashboardAddress,
    openDashboard: parts.openDashboard,
    join: parts.join,
    explain: (idOrIp, full = false) => explain(parts, idOrIp, full),
  };
}

async function withSpending({ budget }: AdminApiParts, record: SandboxRecord): Promise<PublicRecord> {
  const { period, endsAt, tokens, microDollars } = await budget.spentBy(record.id);
  return { ...toPublic(record), spent: { period, until: endsAt, tokens, dollars: microDollars / 1_000_000 } };
}

async function check(parts: AdminApiParts, input: unknown): Promise<CheckResult> {
  const parsed = checkInput.safeParse(input);
  if (!parsed.success) throw new AdminError(400, 'admin.bad-request', z.prettifyError(parsed.error));
  const asked = parsed.data;
  const sandbox = asked.sandbox === undefined ? anySandbox : parts.registry.find(asked.sandbox);
  if (sandbox === null)
    throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${asked.sandbox}`);
  try {
    const { method, url, headers = {}, body = null } = asked;
    const { github, lfsTickets, people, inject } = parts;
    const preview = (flow: Authorized): Promise<string | null> => inject.preview(flow);
    const ports = { ...github, lfsTickets, approvals: people.approvals, preview };
    const rehearsed = await rehearse(parts.policy(), sandbox, { method, url, headers, body }, ports);
    const { permission, credential, askedBy, open, hint } = rehearsed;
    const { rule } = permission;
    const asksFirst = askedBy === null ? '' : `; a person is asked first (${askedBy})`;
    if (open !== null) {
      const reason = `${open.reason}${asksFirst}`;
      return { allowed: false, status: 0, code: 'undecided', rule, reason, hint: open.hint, credential: null };
    }
    return { allowed: true, status: 200, code: 'allowed', rule, reason: `allowed${asksFirst}`, hint, credential };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, rule, message, hint } = error;
    return { allowed: false, status, code, rule, reason: message, hint, credential: null };
  }
}

/** With what people have approved for it for a while. */
function explain(
  { policy, people, registry, secrets }: AdminApiParts,
  idOrIp: string,
  full: boolean,
): readonly PolicySection[] | null {
  const sandbox = registry.find(idOrIp);
  if (sandbox === null) return null;
  const set = new Set(secrets.list().flatMap((status) => (status.set || status.unasked ? [status.name] : [])));
  const isSet = (name: string): boolean => set.has(name);
  const inForce = people.approvals.policyFor(policy(), sandbox.id);
  return explainPolicy(inForce, sandbox, { audience: 'operator', isSet, full });
}

function answering<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof SecretRejected)) throw error;
    const status = error.reason === 'unknown' ? 404 : error.reason === 'has-source' ? 409 : 400;
    throw new AdminError(status, `credential.${error.reason}`, error.message);
  }
}
