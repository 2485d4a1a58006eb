// Questions to GitHub's own API that a decision needs: where a pull request comes from, which repository a number
// belongs to, and what the GraphQL judge asks about nodes. Asked with the credential of the request that is judged, over the same way out, and remembered for a
// while. What GitHub says is believed only in the form that is expected.
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { canonicalRepository } from '../../kit/text/repository-name.ts';
import type { Identified, Permission } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { GithubQuestions } from '../../stages/authorize/github/github-ports.ts';
import { AnsweredWithStatus, type AskPorts, askUpstream, type UpstreamQuestion } from './ask-upstream.ts';

const maxAnswerBytes = 4 * 1024 * 1024;
const rememberMs = 10 * 60_000;

const pullAnswer = z.object({
  head: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }).nullable() }),
  base: z.object({ ref: z.string() }),
});
const repositoryAnswer = z.object({ full_name: z.string() });
interface GithubQuestion {
  readonly flow: Identified;
  readonly permission: Permission;
  readonly signal: AbortSignal;
}

export function createGithubQuestions(ports: AskPorts): GithubQuestions {
  const remembered = new LRUCache<string, { readonly repository: string | null }>({ max: 10_000, ttl: rememberMs });

  async function remember(
    asking: GithubQuestion,
    key: string,
    ask: () => Promise<string | null>,
  ): Promise<string | null> {
    // By sandbox: what the credential of one can see, that of another may not.
    const { flow, permission } = asking;
    const full = `${flow.sandbox.id} ${permission.credential ?? ''} ${flow.canonical.host} ${key}`;
    const known = remembered.get(full);
    if (known !== undefined) return known.repository;
    const repository = await ask();
    remembered.set(full, { repository });
    return repository;
  }

  return {
    async pull(flow, permission, number, signal) {
      const path = `/repos/${permission.repository}/pulls/${encodeURIComponent(number)}`;
      const answer = await askJson(ports, { flow, permission, signal }, 'GET', path, null);
      const { head, base } = read(pullAnswer, answer, flow);
      return { headRepository: head.repo?.full_name ?? null, headBranch: head.ref, baseBranch: base.ref };
    },

    repositoryById(flow, permission, id, signal) {
      const asking = { flow, permission, signal };
      return remember(asking, `id ${id}`, async () => {
        if (!/^\d{1,20}$/.test(id)) return null;
        const answer = await askJson(ports, asking, 'GET', `/repositories/${id}`, null).catch(notThere);
        return answer === null ? null : nameOf(read(repositoryAnswer, answer, flow).full_name);
      });
    },

    graphql: (flow, permission, body, signal) => askJson(ports, { flow, permission, signal }, 'POST', '/graphql', body),
  };
}

function nameOf(fullName: string): string | null {
  const [owner = '', name = '', ...more] = fullName.split('/');
  return more.length === 0 ? canonicalRepository(owner, name) : null;
}

function read<Schema extends z.ZodType>(schema: Schema, answer: unknown, flow: Identified): z.output<Schema> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw noAnswer(flow, parsed.error);
}

function noAnswer({ canonical: { host } }: Identified, cause: unknown): Refusal {
  return new Refusal('upstream.protocol', `${host} gave an answer that the gateway does not understand`, { cause });
}

/** GitHub says 404 for what the credential may not see. Every other status is a failure, and tells nothing of the repository. */
function notThere(error: unknown): null {
  const cause = error instanceof Refusal ? error.cause : null;
  if (cause instanceof AnsweredWithStatus && cause.status === 404) return null;
  throw error;
}

async function askJson(
  ports: AskPorts,
  { flow, permission, signal }: GithubQuestion,
  method: 'GET' | 'POST',
  path: string,
  body: Buffer | null,
): Promise<unknown> {
  const question: UpstreamQuestion = {
    operation: null,
    method,
    target: `${prefixOf(flow, path)}${path}`,
    headers: [
      ['Accept', 'application/vnd.github+json'],
      ...(body === null ? [] : ([['Content-Type', 'application/json']] as const)),
    ],
    body,
    answerType: /^application\/(?:vnd\.github[\w.+-]*\+)?json(?:;.*)?$/,
    maxAnswerBytes,
  };
  const pieces: Buffer[] = [];
  await askUpstream(ports, { flow, permission, signal }, question, (chunk) => {
    pieces.push(chunk);
  });
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch (cause) {
    throw noAnswer(flow, cause);
  }
}

/** Enterprise hosts keep the API under /api of the site. */
function prefixOf({ canonical: { host, path } }: Identified, asked: string): string {
  if (host === 'api.github.com' || !path.toLowerCase().startsWith('/api/')) return '';
  return asked === '/graphql' ? '/api' : '/api/v3';
}
