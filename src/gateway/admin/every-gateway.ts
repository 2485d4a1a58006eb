// All gateways of a user as one, for commands: there are several where runs follow different configurations. Lists are put
// together, what is about one sandbox or one question is asked of each until one knows it, and what happens is heard of all.
import { gatewayHomes } from '../../kit/files/gateway-homes.ts';
import { placesIn } from '../../kit/files/home.ts';
import { AdminClient, AdminRefused, GatewayUnreachable } from './admin-client.ts';
import type { HealthReport } from './admin-ports.ts';

export type AdminCaller = Pick<AdminClient, 'call' | 'putRaw' | 'lines'>;
type Line = Record<string, unknown>;
type Method = Parameters<AdminClient['call']>[0];

/** What is a list, and the key that it stands under. */
const lists: Readonly<Record<string, string>> = {
  '/internal/containers': 'containers',
  '/internal/credentials': 'credentials',
  '/internal/ports': 'sandboxes',
  '/internal/questions': 'questions',
  '/internal/approvals': 'approvals',
};
const lookAgainMs = 1_000;

export class EveryGateway implements AdminCaller {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  async call<T>(method: Method, path: string, json?: unknown): Promise<T> {
    const clients = this.#clients();
    const list = method === 'GET' ? lists[path] : undefined;
    if (clients.length === 1) return clients[0]!.call<T>(method, path, json);
    if (list !== undefined) return { [list]: await this.#gather(clients, path, list) } as T;
    if (path === '/internal/health') return (await this.#health(clients)) as T;
    return firstThatKnows(clients, (client) => client.call<T>(method, path, json));
  }

  /** For each that has such a credential. */
  async putRaw(path: string, value: string): Promise<void> {
    const outcomes = await Promise.allSettled(this.#clients().map((client) => client.putRaw(path, value)));
    if (outcomes.some(({ status }) => status === 'fulfilled')) return;
    throw mostTelling(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason as unknown));
  }

  async *lines(path: string, signal?: AbortSignal): AsyncGenerator<Line> {
    const clients = this.#clients();
    if (path.startsWith('/internal/watch') || /[?&]follow=1/.test(path)) return yield* this.#follow(path, signal);
    if (clients.length === 1) return yield* clients[0]!.lines(path, signal);
    const found = await Promise.allSettled(clients.map((client) => all(client.lines(path, signal))));
    const lines = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (found.every(({ status }) => status === 'rejected'))
      throw mostTelling(found.map((one) => (one as PromiseRejectedResult).reason as unknown));
    const limit = Number(new URLSearchParams(path.split('?')[1]).get('limit') ?? lines.length);
    yield* inOrderOfTime(lines).slice(limit === 0 ? lines.length : -limit);
  }

  /** The first one's is always asked, and says why nobody answers there; of the others those that answer. */
  #clients(): AdminClient[] {
    return gatewayHomes(this.#home).map((home) => new AdminClient(placesIn(home).adminSocket));
  }

  async #gather(clients: readonly AdminClient[], path: string, list: string): Promise<unknown[]> {
    const answers = await Promise.allSettled(
      clients.map((client) => client.call<Record<string, unknown[]>>('GET', path)),
    );
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value[list] ?? []] : []));
    if (found.length === 0)
      throw mostTelling(answers.map((answer) => (answer as PromiseRejectedResult).reason as unknown));
    return found.flat();
  }

  async #health(clients: readonly AdminClient[]): Promise<HealthReport> {
    const answers = await Promise.allSettled(
      clients.map((client) => client.call<HealthReport>('GET', '/internal/health')),
    );
    const reports = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const [first] = reports;
    if (first === undefined)
      throw mostTelling(answers.map((answer) => (answer as PromiseRejectedResult).reason as unknown));
    return { ...first, sandboxes: reports.reduce((sum, { sandboxes }) => sum + sandboxes, 0) };
  }

  /** Also of those that come later. Ends when none is left. */
  async *#follow(path: string, signal?: AbortSignal): AsyncGenerator<Line> {
    const arrived: Line[] = [];
    const followed = new Set<string>();
    let failure: unknown = null;
    let wake = (): void => {};
    const follow = async (home: string): Promise<void> => {
      followed.add(home);
      try {
        for await (const line of new AdminClient(placesIn(home).adminSocket).lines(path, signal)) {
          arrived.push(line);
          wake();
        }
      } catch (error) {
        if (failure === null || !(error instanceof GatewayUnreachable)) failure = error;
      } finally {
        followed.delete(home);
        wake();
      }
    };
    const look = (): void => {
      for (const home of gatewayHomes(this.#home)) if (!followed.has(home)) void follow(home);
    };
    look();
    const timer = setInterval(() => followed.size > 0 && look(), lookAgainMs);
    try {
      while (followed.size > 0 || arrived.length > 0) {
        yield* arrived.splice(0);
        if (followed.size > 0 && arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      clearInterval(timer);
    }
    if (failure !== null) throw failure;
  }
}

async function firstThatKnows<T>(
  clients: readonly AdminClient[],
  ask: (client: AdminClient) => Promise<T>,
): Promise<T> {
  const errors: unknown[] = [];
  for (const client of clients) {
    try {
      return await ask(client);
    } catch (error) {
      if (!(error instanceof GatewayUnreachable) && !(error instanceof AdminRefused && error.status === 404))
        throw error;
      errors.push(error);
    }
  }
  throw mostTelling(errors);
}

/** What a gateway says, before that one of them does not run. */
function mostTelling(errors: readonly unknown[]): unknown {
  return errors.find((error) => !(error instanceof GatewayUnreachable)) ?? errors[0];
}

async function all(lines: AsyncIterable<Line>): Promise<Line[]> {
  const found: Line[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

export function inOrderOfTime<T extends Readonly<Record<string, unknown>>>(records: readonly T[]): T[] {
  const at = ({ time }: T): number => Date.parse(String(time)) || 0;
  return [...records].sort((a, b) => at(a) - at(b));
}
