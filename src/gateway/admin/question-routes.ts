// The admin API's routes for people: what waits for an answer, answering it, what was approved, and watching as it happens.
// A line of the policy is written only when the very text of it was shown and is sent back.
import * as z from 'zod';
import type { ApprovalScope, PersonsAnswer } from '../../path/approvals.ts';
import { readJson } from './admin-body.ts';
import { AdminError } from './admin-error.ts';
import type { AdminCall, AdminRoute } from './routes.ts';

const scope = z.enum(['path', 'host'], { error: 'write path or host' });
const minutes = z.int({ error: 'write a whole number of minutes' }).min(1).max(1440);
const deny = z.strictObject({ answer: z.literal('deny') });
const approval = z.discriminatedUnion(
  'for',
  [
    z.strictObject({ answer: z.literal('approve'), for: z.literal('once') }),
    z.strictObject({ answer: z.literal('approve'), for: z.literal('minutes'), minutes, scope }),
    z.strictObject({ answer: z.literal('approve'), for: z.literal('always'), scope, line: z.string().optional() }),
  ],
  { error: 'for must be once, minutes or always' },
);
const answerBody = z.discriminatedUnion('answer', [deny, approval], { error: 'answer must be approve or deny' });

/** What a person sent, in the form that the admin takes. Whether the line is the one that was shown is looked at there. */
function readAnswer(body: unknown, by: string): PersonsAnswer {
  const parsed = answerBody.safeParse(body);
  if (!parsed.success) throw new AdminError(400, 'admin.bad-request', z.prettifyError(parsed.error));
  const sent = parsed.data;
  if (sent.answer === 'deny' || sent.for !== 'always') return { ...sent, by };
  return { ...sent, line: sent.line ?? null, by };
}

export const questionRoutes: readonly AdminRoute[] = [
  {
    path: ['internal', 'questions'],
    methods: { GET: ({ questions }) => ({ status: 200, json: { questions: questions.list() } }) },
  },
  {
    path: ['internal', 'questions', ':id'],
    methods: {
      POST: async (ports, call) => {
        const answer = readAnswer(await readJson(call.request), whoOf(call));
        return { status: 200, json: await ports.questions.answer(call.parameter, answer) };
      },
    },
  },
  {
    path: ['internal', 'questions', ':id', 'line'],
    methods: {
      GET: async ({ questions }, { parameter, query }) => ({
        status: 200,
        json: await questions.preview(parameter, readScope(query)),
      }),
    },
  },
  {
    path: ['internal', 'approvals'],
    methods: { GET: ({ questions }) => ({ status: 200, json: { approvals: questions.approvals() } }) },
  },
  {
    path: ['internal', 'approvals', ':id'],
    methods: {
      DELETE: async ({ questions }, call) => {
        const { parameter } = call;
        if (await questions.withdraw(parameter, whoOf(call))) return { status: 204 };
        const hint = 'It has ended. List the approvals in force: sallyport approve';
        throw new AdminError(404, 'admin.not-found', `no approval ${parameter} is in force`, hint);
      },
    },
  },
  {
    path: ['internal', 'watch'],
    methods: { GET: ({ questions }) => ({ status: 200, lines: (signal) => questions.watch(signal) }) },
  },
];

function whoOf({ uid }: AdminCall): string {
  return uid === null ? 'an unknown user of the admin socket' : `user ${uid} on the admin socket`;
}

function readScope(query: URLSearchParams): ApprovalScope {
  const parsed = scope.safeParse(query.get('scope') ?? 'path');
  if (!parsed.success) throw new AdminError(400, 'admin.bad-request', 'scope must be path or host');
  return parsed.data;
}
