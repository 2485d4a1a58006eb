// The gateway of one `run`, for as long as its sandbox lives: joined or started, left in the end, and when it dies on the way
// found again or replaced. The launcher holds the namespace and the CA that its sandbox trusts, so the next gateway opens the
// same door in it (docs/adr/058).
import { setTimeout as sleep } from 'node:timers/promises';
import type { NamespaceGrant, SandboxRegistrar } from '../sandbox/run/start-sandbox.ts';
import { refuseDoubtful } from '../sandbox/traps/written-folders.ts';
import { type AdminClient, AdminRefused } from './admin/admin-client.ts';
import type { Grant, HealthReport, PublicRecord } from './admin/admin-ports.ts';
import { type JoinedGateway, type JoinOptions, joinGateway, joinLiving } from './join-gateway.ts';
import { asNamespaceGrant } from './sandboxes/sandbox-registrar.ts';

export interface RunGatewayOptions extends JoinOptions {
  /** For the person, at once. */
  readonly say: (text: string) => void;
}

interface Registered {
  readonly id: string;
  readonly registration: object;
  readonly ca: Grant['ca'];
}

const againMs = 250;

export class RunGateway {
  readonly #options: RunGatewayOptions;
  readonly #over = new AbortController();
  #joined: JoinedGateway;
  #registered: Registered | null = null;
  /** Asked of every gateway with the registration, beside it. */
  afterRegistration: ((id: string) => Promise<void>) | null = null;

  static async open(options: RunGatewayOptions): Promise<RunGateway> {
    return new RunGateway(options, await joinGateway(options));
  }

  private constructor(options: RunGatewayOptions, joined: JoinedGateway) {
    this.#options = options;
    this.#joined = joined;
    this.#watch(joined);
  }

  get joined(): Pick<JoinedGateway, 'answer' | 'isOwn' | 'passedBy'> {
    return this.#joined;
  }

  /** The one that serves now. */
  get client(): AdminClient {
    return this.#joined.client;
  }

  readonly registrar: SandboxRegistrar = {
    guarded: async () => (await this.client.call<HealthReport>('GET', '/internal/health')).guarded,
    register: (registration) => this.#register(registration),
    renew: (id) => this.client.call('POST', `${pathOf(id)}/renew`),
    unregister: (id) => {
      this.#registered = null;
      return this.client.call('DELETE', pathOf(id));
    },
  };

  /** Resolves when a gateway that ends with this run has ended: everything is written down then. */
  async leave(): Promise<void> {
    this.#over.abort();
    await this.#joined.leave();
  }

  async #register(registration: object): Promise<NamespaceGrant> {
    const { id, grant } = await this.#registerAt(registration);
    this.#registered = { id, registration, ca: grant.ca };
    return asNamespaceGrant(id, grant);
  }

  async #registerAt(registration: object): Promise<{ id: string; grant: Grant }> {
    const { client } = this;
    const { id, grant } = await client.call<PublicRecord & { grant: Grant }>(
      'POST',
      '/internal/containers',
      registration,
    );
    try {
      await this.afterRegistration?.(id);
    } catch (error) {
      await client.call('DELETE', pathOf(id)).catch(() => {});
      throw error;
    }
    return { id, grant };
  }

  #watch(joined: JoinedGateway): void {
    void joined.ended.then(() => {
      if (!this.#over.signal.aborted) return this.#find(joined);
    });
  }

  /** Until there is one again, or the run is over. Says each thing once. */
  async #find(lost: JoinedGateway): Promise<void> {
    const { say } = this.#options;
    say(wordsOfLoss(lost.answer));
    let told = '';
    while (!this.#over.signal.aborted) {
      try {
        const found = await this.#seek(lost);
        if (found !== null) {
          this.#joined = found;
          await this.#registerAgain();
          this.#watch(found);
          say(
            `a gateway serves this sandbox again (process ${found.answer.pid}). What was under way has failed; approvals for a while and values of \`secret set\` are gone with the old one.`,
          );
          return;
        }
      } catch (error) {
        const { message } = error instanceof Error ? error : new Error(String(error));
        if (message !== told && !this.#over.signal.aborted) say(`no gateway serves this sandbox yet: ${message}`);
        told = message;
      }
      await sleep(againMs, undefined, { signal: this.#over.signal }).catch(() => {});
    }
  }

  /** Who has started it by hand, or had it started, starts it again: ours would be in the way of that one. */
  async #seek({ answer }: JoinedGateway): Promise<JoinedGateway | null> {
    const { config, home, any } = this.#options;
    if (any || answer.kind !== 'run') {
      const found = await joinLiving(this.#options);
      // Not whichever comes: its user has seen what that one follows.
      if (found === null || (found.answer.kind === answer.kind && found.answer.config === answer.config)) return found;
      await found.leave();
      return null;
    }
    // The sandbox has been running since it was judged.
    if (config !== null) refuseDoubtful(home, config);
    return joinGateway(this.#options);
  }

  async #registerAgain(): Promise<void> {
    const registered = this.#registered;
    if (registered === null) return;
    const { id, registration, ca } = registered;
    const namespace = { ...(Reflect.get(registration, 'namespace') as object), ...(ca !== undefined && { ca }) };
    // Only where it was lost without its gateway being so.
    await this.client.call('DELETE', pathOf(id)).catch((error: unknown) => {
      if (!(error instanceof AdminRefused)) throw error;
    });
    await this.#registerAt({ ...registration, namespace });
  }
}

function pathOf(id: string): string {
  return `/internal/containers/${encodeURIComponent(id)}`;
}

function wordsOfLoss({ kind, pid }: JoinedGateway['answer']): string {
  const lost = `the gateway has ended (process ${pid}): until there is one again, no request of this sandbox gets through.`;
  if (kind === 'run') return `${lost} Another is being started.`;
  const start = kind === 'service' ? 'systemctl --user start sallyport' : 'sallyport up';
  return `${lost} Start it again (${start}), and the sandbox goes on with it; or end the command.`;
}
