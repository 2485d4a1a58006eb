// What the page may ask and change, below /api/: path and method to port, the port's answer to JSON. Every request that
// comes here has a session and has repeated its word. A sandbox is named by its id alone.
import * as z from 'zod';
import { AdminError } from '../admin/admin-error.ts';
import { LineChanged } from '../admin/line-changed.ts';
import type { DashboardPorts, PageData } from './page-data.ts';
import type { AnswerBody } from './shapes.ts';

export interface PageCall {
  /** What stood in the place of `:id`, decoded. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** Of a change, as JSON; what it must look like is said here. */
  readonly body: unknown;
}

export interface PageApiParts {
  readonly ports: DashboardPorts;
  readonly data: Pick<PageData, 'state' | 'request'>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

type Handler = (parts: PageApiParts, call: PageCall) => Promise<ApiAnswer> | ApiAnswer;

interface ApiRoute {
  readonly method: 'GET' | 'POST';
  readonly path: readonly string[];
  readonly handle: Handler;
}

/** As the journal names whoever answered on the page. */
const byThePage = 'the dashboard';

const scope = z.enum(['path', 'host']);
const answerBody = z.union([
  z.strictObject({ answer: z.literal('deny') }),
  z.strictObject({ answer: z.literal('approve'), for: z.literal('once') }),
  z.strictObject({
    answer: z.literal('approve'),
    for: z.literal('minutes'),
    minutes: z.int().min(1).max(1_440),
    scope,
  }),
  z.strictObject({ answer: z.literal('approve'), for: z.literal('always'), scope, line: z.string() }),
]);

const routes: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: ['state'],
    handle: async ({ data }) => ({ status: 200, json: await data.state() }),
  },
  {
    method: 'GET',
    path: ['requests', ':id'],
    handle: ({ data }, { id }) => {
      const detail = data.request(id);
      if (detail === null) {
        throw new AdminError(
          404,
          'admin.not-found',
          'this request is no longer among the newest',
          'The journal still has it: sallyport logs',
        );
      }
      return { status: 200, json: detail };
    },
  },
  {
    method: 'GET',
    path: ['questions', ':id', 'line'],
    handle: async ({ ports }, { id, query }) => {
      const asked = scope.safeParse(query.get('scope') ?? 'path');
      if (!asked.success) throw new AdminError(400, 'admin.bad-request', 'scope is path or host');
      return { status: 200, json: await ports.questions.preview(id, asked.data) };
    },
  },
  { method: 'POST', path: ['questions', ':id'], handle: answerQuestion },
  { method: 'POST', path: ['sandboxes', ':id', 'revoke'], handle: revoke },
  {
    method: 'POST',
    path: ['approvals', ':id', 'end'],
    handle: async ({ ports }, { id }) => {
      if (await ports.questions.withdraw(id, byThePage)) return { status: 200, json: {} };
      throw new AdminError(404, 'admin.not-found', 'this approval is not in force any more');
    },
  },
];

/** Null: there is nothing at this path. Throws an AdminError for what cannot be done. */
export async function answerApi(
  parts: PageApiParts,
  method: string,
  path: readonly string[],
  call: Omit<PageCall, 'id'>,
): Promise<ApiAnswer | null> {
  const here = routes.filter((route) => idIn(route.path, path) !== null);
  if (here.length === 0) return null;
  const route = here.find((one) => one.method === (method === 'HEAD' ? 'GET' : method));
  if (route === undefined) {
    throw new AdminError(405, 'admin.method-not-allowed', `${method} is not possible here`);
  }
  return route.handle(parts, { ...call, id: idIn(route.path, path) ?? '' });
}

async function answerQuestion({ ports }: PageApiParts, { body, id }: PageCall): Promise<ApiAnswer> {
  const parsed = answerBody.safeParse(body);
  if (!parsed.success) {
    const hint = 'Answer with deny, or approve once, for 1 to 1440 minutes, or always.';
    throw new AdminError(400, 'admin.bad-request', 'this is not an answer to a question', hint);
  }
  const given: AnswerBody = parsed.data;
  try {
    const { said } = await ports.questions.answer(id, { ...given, by: byThePage });
    return { status: 200, json: { said } };
  } catch (error) {
    if (!(error instanceof LineChanged)) throw error;
    // A person agrees to what was shown. The file has changed since.
    const words = 'the line has changed meanwhile: look at it again before you agree';
    return { status: 409, json: { error: words, code: 'approval.line-changed', hint: '', line: error.line } };
  }
}

/** By id alone: whatever else would be found under this text is not what the person saw. */
async function revoke({ ports }: PageApiParts, { id }: PageCall): Promise<ApiAnswer> {
  const found = await ports.find(id);
  const gone = found?.id === id ? await ports.unregister(id) : null;
  if (gone === null) {
    throw new AdminError(404, 'sandbox.not-found', 'no sandbox is registered with this id', 'It may be gone already.');
  }
  return { status: 200, json: { unconfirmed: gone.unconfirmed } };
}

/** What stands in the place of `:id` ('' when the pattern has none), or null when the path is another. */
function idIn(pattern: readonly string[], path: readonly string[]): string | null {
  if (pattern.length !== path.length) return null;
  let id = '';
  for (const [index, part] of pattern.entries()) {
    if (part === ':id') id = path[index]!;
    else if (part !== path[index]) return null;
  }
  return pattern.includes(':id') && id === '' ? null : id;
}
