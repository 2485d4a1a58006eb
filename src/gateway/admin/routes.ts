// The admin API's routes: path and method to port, port's answer to HTTP. Holds no state and knows no stage; a
// credential that comes in is handed on and never answered, logged or put in an error.
import type { IncomingMessage } from 'node:http';
import { readJson, readText } from './admin-body.ts';
import { AdminError } from './admin-error.ts';
import type { AdminPorts } from './admin-ports.ts';
import { joinLines } from './join-route.ts';
import { questionRoutes } from './question-routes.ts';

export type AdminAnswer =
  | { readonly status: number; readonly json: unknown; readonly location?: string }
  | { readonly status: number; readonly text: string; readonly type: string }
  | { readonly status: 204 }
  | { readonly status: 200; readonly lines: (signal: AbortSignal) => AsyncIterable<object> };

export interface AdminCall {
  readonly request: IncomingMessage;
  /** What stood in the place of `:name` in the path, decoded. */
  readonly parameter: string;
  readonly query: URLSearchParams;
  /** Who calls, by number; null: not known. */
  readonly uid: number | null;
}

type Handler = (ports: AdminPorts, call: AdminCall) => Promise<AdminAnswer> | AdminAnswer;

export interface AdminRoute {
  readonly path: readonly string[];
  readonly methods: Readonly<Record<string, Handler>>;
}

const noSandbox = 'See which there are: sallyport list';

const routes: readonly AdminRoute[] = [
  ...questionRoutes,
  // An address that opens the dashboard, once. Whoever may ask here may do anything on that page.
  {
    path: ['internal', 'dashboard'],
    methods: {
      POST: async (ports, { query }) => {
        const address = readFlag(query, 'open') ? await ports.openDashboard() : ports.dashboardAddress();
        if (address === null) {
          const hint =
            'For as long as a run lasts: sallyport run --dashboard -- COMMAND. For good: add `listen: {dashboard: 127.0.0.1:8642}` to sallyport.yaml and start the gateway again.';
          throw new AdminError(404, 'dashboard.not-served', 'this gateway serves no dashboard', hint);
        }
        return { status: 200, json: { address } };
      },
    },
  },
  // A run that would rather use this gateway than start its own.
  {
    path: ['internal', 'join'],
    methods: { POST: async (ports, { request }) => ({ status: 200, lines: await joinLines(ports, request) }) },
  },
  // Switches learning on for a sandbox: it may then read unknown public hosts, without a credential.
  {
    path: ['internal', 'learning'],
    methods: {
      POST: async (ports, { request }) => {
        const body: unknown = await readJson(request);
        const sandbox: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'sandbox') : undefined;
        if (typeof sandbox !== 'string' || sandbox === '') {
          throw new AdminError(400, 'admin.bad-request', 'name the sandbox: {"sandbox": "ID"}');
        }
        await ports.startLearning(sandbox);
        return { status: 204 };
      },
    },
  },
  {
    path: ['internal', 'containers', ':which', 'policy'],
    methods: {
      GET: (ports, { parameter, query }) => {
        const sections = ports.explain(parameter, readFlag(query, 'full'));
        if (sections !== null) return { status: 200, json: { sections } };
        throw new AdminError(404, 'sandbox.not-found', `no live sandbox is registered as ${parameter}`, noSandbox);
      },
    },
  },
  {
    path: ['internal', 'ports'],
    methods: {
      GET: (ports, { query }) => ({ status: 200, json: { sandboxes: ports.ports(query.get('sandbox')) } }),
    },
  },
  {
    path: ['internal', 'containers', ':which', 'ports'],
    methods: {
      POST: async (ports, { request, parameter }) => {
        const body: unknown = await readJson(request);
        const port: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'port') : undefined;
        return { status: 201, json: await ports.publish(parameter, String(port ?? '')) };
      },
      DELETE: (ports, { parameter, query }) => ({
        status: 200,
        json: { unpublished: ports.unpublish(parameter, Number(query.get('port'))) },
      }),
    },
  },
  {
    path: ['internal', 'containers'],
    methods: {
      GET: async (ports) => ({ status: 200, json: { containers: await ports.list() } }),
      POST: async (ports, { request }) => {
        const { record, proof } = await ports.register(await readJson(request));
        const location = `/internal/containers/${encodeURIComponent(record.id)}`;
        return { status: 201, json: { ...record, grant: proof }, location };
      },
    },
  },
  {
    path: ['internal', 'containers', ':which'],
    methods: {
      GET: async (ports, { parameter }) => {
        const record = await ports.find(parameter);
        if (record === null) throw unknownSandbox(parameter);
        return { status: 200, json: record };
      },
      DELETE: async (ports, { parameter }) => {
        const gone = await ports.unregister(parameter);
        if (gone === null) throw unknownSandbox(parameter);
        return gone.unconfirmed.length === 0 ? { status: 204 } : { status: 200, json: gone };
      },
    },
  },
  {
    path: ['internal', 'containers', ':which', 'renew'],
    methods: { POST: async (ports, { parameter }) => ({ status: 200, json: await ports.renew(parameter) }) },
  },
  {
    path: ['internal', 'credentials'],
    methods: { GET: (ports) => ({ status: 200, json: { credentials: ports.listCredentials() } }) },
  },
  {
    path: ['internal', 'credentials', ':name'],
    methods: {
      PUT: async (ports, { request, parameter }) => {
        const value = await readText(request);
        if (value.trim() === '') throw new AdminError(400, 'admin.bad-request', 'the value of a credential is empty');
        await ports.setCredential(parameter, value);
        return { status: 204 };
      },
      DELETE: async (ports, { parameter }) => {
        if (!(await ports.removeCredential(parameter))) {
          throw new AdminError(
            404,
            'admin.not-found',
            `no value is set for credential ${parameter}`,
            'See which there are: sallyport secret list',
          );
        }
        return { status: 204 };
      },
    },
  },
  {
    path: ['internal', 'check'],
    methods: {
      POST: async (ports, { request }) => ({ status: 200, json: await ports.check(await readJson(request)) }),
    },
  },
  {
    path: ['internal', 'health'],
    methods: {
      GET: (ports) => {
        const report = ports.health();
        return { status: report.ready ? 200 : 503, json: report };
      },
    },
  },
  {
    path: ['internal', 'metrics'],
    methods: {
      GET: async (ports) => ({ status: 200, text: await ports.metrics(), type: 'text/plain; version=0.0.4' }),
    },
  },
  {
    path: ['internal', 'audit'],
    methods: {
      GET: (ports, { query }) => {
        const sandbox = query.get('sandbox');
        const refusedOnly = readFlag(query, 'refused');
        const follow = readFlag(query, 'follow');
        const limit = readLimit(query);
        return { status: 200, lines: (signal) => ports.audit({ sandbox, refusedOnly, follow, limit, signal }) };
      },
    },
  },
];

/** Finds the route and runs it. Throws an `AdminError` for what is not there or not allowed. */
export async function answerCall(
  ports: AdminPorts,
  request: IncomingMessage,
  uid: number | null = null,
): Promise<AdminAnswer> {
  const [path, query] = splitTarget(request.url ?? '/');
  for (const route of routes) {
    const parameter = match(route.path, path);
    if (parameter === null) continue;
    const method = request.method ?? '';
    const handler = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined;
    if (handler === undefined) throw new MethodNotAllowed(method, Object.keys(route.methods));
    return handler(ports, { request, parameter, query, uid });
  }
  throw new AdminError(404, 'admin.not-found', 'there is nothing at this path of the admin API');
}

export class MethodNotAllowed extends AdminError {
  readonly allow: string;

  constructor(method: string, allowed: readonly string[]) {
    super(405, 'admin.method-not-allowed', `${method} is not possible here`, `Possible: ${allowed.join(', ')}`);
    this.allow = allowed.join(', ');
  }
}

/** The parameter ('' when the pattern has none), or null when the path is another. */
function match(pattern: readonly string[], path: readonly string[]): string | null {
  if (pattern.length !== path.length) return null;
  let parameter = '';
  for (const [index, part] of pattern.entries()) {
    const given = path[index]!;
    if (part.startsWith(':')) parameter = given;
    else if (part !== given) return null;
  }
  return pattern.some((part) => part.startsWith(':')) && parameter === '' ? null : parameter;
}

function splitTarget(target: string): [string[], URLSearchParams] {
  const [path = '', query = ''] = target.split(/\?(.*)/s, 2);
  try {
    return [path.split('/').slice(1).map(decodeURIComponent), new URLSearchParams(query)];
  } catch {
    throw new AdminError(400, 'admin.bad-request', 'the path is not validly percent-encoded');
  }
}

function readLimit(query: URLSearchParams): number {
  const text = query.get('limit') ?? '100';
  const limit = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (!(limit >= 0 && limit <= 1_000_000)) {
    throw new AdminError(400, 'admin.bad-request', 'limit must be a whole number from 0 to 1000000');
  }
  return limit;
}

function unknownSandbox(which: string): AdminError {
  return new AdminError(404, 'admin.not-found', `no sandbox is registered as ${which}`, noSandbox);
}

function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name) ?? '0';
  if (value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false' || value === '') return false;
  throw new AdminError(400, 'admin.bad-request', `${name} must be 1 or 0`);
}
