// The refusals of the GraphQL judge, and the form in which gh and other GraphQL clients show one to a person.
import { type ProtocolAnswer, Refusal } from '../../../../path/refusal.ts';

/** A document that is not understood, or asks for what no sandbox gets. */
export function notJudged(message: string, hint?: string, rule?: string): Refusal {
  return new Refusal('github.graphql', message, {
    rule: rule ?? 'built-in: only GraphQL that can be judged',
    hint: hint ?? 'Ask only for what belongs to the repositories of this sandbox, in one plain GraphQL document.',
  });
}

export function notTied(message: string, cause?: unknown): Refusal {
  return new Refusal('github.node', message, {
    rule: 'built-in: every node belongs to a repository of the sandbox',
    hint: 'Use ids of things in the repositories this sandbox was registered for, as GitHub gave them.',
    cause,
  });
}

export function notOfSandbox(repository: string): Refusal {
  return new Refusal('repo.not-allowed', `${repository} is not a repository of this sandbox`, {
    rule: 'repos of the registration',
    hint: 'Work on the repositories of this sandbox, or have it started with this one too: `run --repo`, or `repos` of its registration.',
  });
}

/** GraphQL answers its errors with status 200; gh prints `GraphQL: MESSAGE`. */
export function renderGraphqlRefusal(refusal: Refusal, requestId: string): ProtocolAnswer {
  const { message, hint, code, rule } = refusal;
  const extensions = { code, rule, hint, request_id: requestId };
  const errors = [{ type: 'FORBIDDEN', message: `${message}. ${hint}`, extensions }];
  const body = Buffer.from(`${JSON.stringify({ data: null, errors })}\n`);
  return { contentType: 'application/json; charset=utf-8', body };
}
