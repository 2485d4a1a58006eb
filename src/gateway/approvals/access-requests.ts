// What agents have asked people for, as their own sandbox is told of it: so many open ones each, and a few that are over.
// Never tells one sandbox of another's.
import type {
  AccessRequest,
  AccessRequestState,
  Approval,
  ReportedAccessRequest,
  Verdict,
} from '../../path/approvals.ts';

interface Entry {
  readonly id: string;
  readonly sandbox: string;
  readonly accessRequest: AccessRequest;
  readonly askedAt: string;
  state: AccessRequestState;
  /** What was granted for a while; null: nothing, or for good. */
  approval: Approval | null;
}

const openPerSandbox = 10;
const openInAll = 500;
const keptPerSandbox = 20;
const keptInAll = 2_000;

export class AccessRequests {
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>();
  #openInAll = 0;

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  hasRoom(sandbox: string): boolean {
    if (this.#openInAll >= openInAll) return false;
    return this.#of(sandbox).filter(({ state }) => state === 'waiting').length < openPerSandbox;
  }

  /** One that waits already for the same. */
  findOpen(sandbox: string, accessRequest: AccessRequest): ReportedAccessRequest | null {
    const found = this.#of(sandbox).find(
      (entry) =>
        entry.state === 'waiting' &&
        urlOf(entry.accessRequest) === urlOf(accessRequest) &&
        entry.accessRequest.method === accessRequest.method,
    );
    return found === undefined ? null : reportOf(found);
  }

  open(id: string, sandbox: string, accessRequest: AccessRequest, nowMs: number): ReportedAccessRequest {
    const askedAt = new Date(nowMs).toISOString();
    const entry: Entry = { id, sandbox, accessRequest, askedAt, state: 'waiting', approval: null };
    this.#entries.set(id, entry);
    this.#openInAll++;
    this.#makeRoom(sandbox);
    return reportOf(entry);
  }

  alreadyAllowed(accessRequest: AccessRequest, nowMs: number): ReportedAccessRequest {
    const askedAt = new Date(nowMs).toISOString();
    const next = 'The policy allows this already: send the request.';
    return {
      id: 'none',
      state: 'approved',
      url: urlOf(accessRequest),
      method: accessRequest.method,
      askedAt,
      until: null,
      next,
    };
  }

  /** The first answer stands. Of one that is no access request nothing is known here. */
  settle(id: string, verdict: Verdict, approval: Approval | null): void {
    const entry = this.#entries.get(id);
    if (entry?.state !== 'waiting') return;
    entry.state = verdict.granted ? 'approved' : verdict.why === 'denied' ? 'denied' : 'forgotten';
    entry.approval = approval;
    this.#openInAll--;
  }

  /** The newest first. An approval ends with its time, or before it by a person. */
  of(sandbox: string, isInForce: (approval: Approval) => boolean): readonly ReportedAccessRequest[] {
    return this.#of(sandbox)
      .map((entry) => reportOf(entry, entry.approval === null || isInForce(entry.approval)))
      .reverse();
  }

  drop(sandbox: string): void {
    for (const entry of this.#of(sandbox)) this.#remove(entry);
  }

  #of(sandbox: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.sandbox === sandbox);
  }

  #makeRoom(sandbox: string): void {
    const over = this.#of(sandbox).filter(({ state }) => state !== 'waiting');
    for (const entry of over.slice(0, Math.max(0, over.length - keptPerSandbox))) this.#remove(entry);
    if (this.#entries.size <= keptInAll) return;
    for (const entry of this.#entries.values()) {
      if (entry.state === 'waiting') continue;
      this.#remove(entry);
      return;
    }
  }

  #remove(entry: Entry): void {
    if (entry.state === 'waiting') this.#openInAll--;
    this.#entries.delete(entry.id);
  }
}

function urlOf({ scheme, host, port, path }: AccessRequest): string {
  const usual = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host}${usual ? '' : `:${port}`}${path}`;
}

function reportOf({ id, accessRequest, askedAt, approval, ...entry }: Entry, isInForce = true): ReportedAccessRequest {
  const until = approval === null ? null : new Date(approval.untilMs).toISOString();
  const state = isInForce ? entry.state : 'over';
  return {
    id,
    state,
    url: urlOf(accessRequest),
    method: accessRequest.method,
    askedAt,
    until,
    next: nextStep(state, until),
  };
}

function nextStep(state: AccessRequestState, until: string | null): string {
  switch (state) {
    case 'waiting':
      return 'A person has been asked. Check again later, and do something else meanwhile.';
    case 'approved':
      return until === null
        ? 'Send the request: it is allowed now.'
        : `Send the request: it is allowed until ${until}.`;
    case 'over':
      return 'It was allowed for some time, and that time has ended. Ask again if you still need it.';
    case 'denied':
      return 'A person has said no. Find another way, or tell the user why you need it.';
    case 'forgotten':
      return 'Nobody answered. Tell the user, and ask again when somebody is there.';
  }
}
