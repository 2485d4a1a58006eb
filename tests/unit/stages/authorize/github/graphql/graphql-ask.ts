// Asks the GraphQL judge as a sandbox of o/r would, with a GitHub that knows a few nodes.

import { defaultEffects, type GithubEffect } from '../../../../../../src/path/github-effects.ts';
import type {
  GraphqlQuestion,
  GraphqlVerdict,
} from '../../../../../../src/stages/authorize/github/graphql/judge-graphql.ts';
import { judgeGraphql } from '../../../../../../src/stages/authorize/github/graphql/judge-graphql.ts';
import type { NodeFacts } from '../../../../../../src/stages/authorize/github/graphql/node-facts.ts';
import type { GraphqlRefWrite } from '../../../../../../src/stages/authorize/github/graphql/ref-write.ts';
import { loadGraphqlTable } from '../../../../../../src/stages/authorize/github/operation-table.ts';

export const ids = {
  /** [0, 1] and [0, 1, n]: in repository number 1, which is o/r. */
  repository: 'R_kgDOAAAAAQ',
  issue: 'I_kwDOAAAAAc4AAAAC',
  pull: 'PR_kwDOAAAAAc4AAAAB',
  label: 'LA_kwDOAAAAAc4AAAAD',
  milestone: 'MI_kwDOAAAAAc4AAAAE',
  ref: 'REF_kwDOAAAAAatyZWZzL2hlYWRz',
  /** [0, 2, 1]: in repository number 2, which is other/secret. */
  foreignIssue: 'I_kwDOAAAAAs4AAAAB',
  foreignRepository: 'R_kgDOAAAAAg',
  /** [0, 1, 9]: says o/r, and is in other/secret. */
  forgedIssue: 'I_kwDOAAAAAc4AAAAJ',
  /** 05:Issue2 and 05:Issue9. */
  legacyIssue: Buffer.from('05:Issue2').toString('base64'),
  legacyForeignIssue: Buffer.from('05:Issue9').toString('base64'),
  user: 'U_kgDOAAAAAQ',
  bot: 'BOT_kgDOAAAAAQ',
};

const own = { repository: 'o/r', repositoryNumber: 1, ref: null, pull: null };
const foreign = { repository: 'other/secret', repositoryNumber: 2, ref: null, pull: null };
const github: ReadonlyMap<string, NodeFacts> = new Map<string, NodeFacts>([
  [ids.repository, { ...own, type: 'Repository' }],
  [ids.issue, { ...own, type: 'Issue' }],
  [ids.legacyIssue, { ...own, type: 'Issue' }],
  [ids.label, { ...own, type: 'Label' }],
  [ids.milestone, { ...own, type: 'Milestone' }],
  [ids.ref, { ...own, type: 'Ref', ref: 'refs/heads/main' }],
  [ids.pull, { ...own, type: 'PullRequest', pull: { headRepository: 'o/r', head: 'f', base: 'main' } }],
  [ids.foreignIssue, { ...foreign, type: 'Issue' }],
  [ids.forgedIssue, { ...foreign, type: 'Issue' }],
  [ids.legacyForeignIssue, { ...foreign, type: 'Issue' }],
  [ids.foreignRepository, { ...foreign, type: 'Repository' }],
]);

export interface Asked {
  readonly verdict: GraphqlVerdict;
  /** Code and message of the refusal; `allowed` when there is none. */
  readonly said: string;
  readonly looked: readonly string[];
  readonly writes: readonly GraphqlRefWrite[];
}

export interface AskOptions extends Partial<Omit<GraphqlQuestion, 'effects'>> {
  readonly effects?: readonly GithubEffect[];
}

/** `request`: the JSON of the body, or the query alone. */
export async function ask(request: unknown, options: AskOptions = {}): Promise<Asked> {
  const looked: string[] = [];
  const writes: GraphqlRefWrite[] = [];
  const value = typeof request === 'string' ? { query: request } : request;
  const verdict = await judgeGraphql({
    method: 'POST',
    query: null,
    contentType: 'application/json',
    body: Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
    covers: (repository) => repository === 'o/r',
    mutationEffect: (name) => loadGraphqlTable().mutations.get(name) ?? null,
    nodes: {
      look: async (asked) => {
        looked.push(...asked);
        return new Map(asked.flatMap((id) => (github.has(id) ? [[id, github.get(id)!] as const] : [])));
      },
    },
    refs: {
      judge: async (write) => {
        writes.push(write);
      },
    },
    mode: 'bot',
    ...options,
    effects: new Set(options.effects ?? defaultEffects),
  });
  const said = verdict.allowed ? 'allowed' : `${verdict.refusal.code}: ${verdict.refusal.message}`;
  return { verdict, said, looked, writes };
}

/** The body that would be sent. */
export function sentBy({ verdict, said }: Asked): { query: string; variables: Record<string, unknown> } {
  if (!verdict.allowed) throw new Error(said);
  return JSON.parse(verdict.body.toString('utf8'));
}

export function inRepository(selection: string): string {
  return `{ repository(owner: "o", name: "r") { ${selection} } }`;
}
