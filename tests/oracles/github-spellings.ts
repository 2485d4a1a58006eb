// Every way to spell a call of GitHub's API that the tables know: each operation under each host, prefix and second name,
// for a repository of one's choice; each mutation as a minimal document.

import { defaultEffects, type GithubEffect } from '../../src/path/github-effects.ts';
import { loadGraphqlInputs } from '../../src/stages/authorize/github/graphql/graphql-inputs.ts';
import { judgeGraphql } from '../../src/stages/authorize/github/graphql/judge-graphql.ts';
import type { NodeFacts } from '../../src/stages/authorize/github/graphql/node-facts.ts';
import type { GraphqlRefWrite } from '../../src/stages/authorize/github/graphql/ref-write.ts';
import { loadGraphqlTable, loadRestTable, type RestLine } from '../../src/stages/authorize/github/operation-table.ts';

export const own = 'acme/widgets';
export const foreign = 'acme/secrets';

/** One request, and whether it names its repository by number. */
export interface Spelling {
  readonly method: string;
  readonly url: string;
  readonly byNumber: boolean;
}

const bases = [
  'https://api.github.com',
  'https://uploads.github.com',
  'https://ghe.example.com/api/v3',
  'https://ghe.example.com/api/uploads',
];

/** What stands for a parameter in a made-up path. */
const particular: Readonly<Record<string, string>> = {
  path: 'src/made-up.txt',
  ref: 'heads/sandbox/made-up',
  branch: 'sandbox/made-up',
  basehead: 'main...made-up',
  base: 'main',
  head: 'made-up',
};

export function restLines(effect: GithubEffect): readonly RestLine[] {
  return loadRestTable().operations.filter((line) => line.effect === effect);
}

export function namesRepository({ template }: RestLine): boolean {
  return /\{(?:template_)?owner\}\/\{(?:template_)?repo\}/.test(template);
}

/** `repository`: also under its number, 7. */
export function spellingsOf(line: RestLine, repository: string): Spelling[] {
  const methods = line.method === 'GET' ? ['GET', 'HEAD'] : [line.method];
  return templatesOf(line).flatMap((template) => {
    const path = fill(template, repository);
    const byNumber = template.startsWith('/repositories/{repository_id}') && namesRepository(line);
    const paths = path === '/' ? [path] : [path, `${path}/`];
    return bases.flatMap((base) =>
      paths.flatMap((one) => methods.map((method) => ({ method, url: `${base}${one}`, byNumber }))),
    );
  });
}

function templatesOf({ template }: RestLine): string[] {
  const seconds = loadRestTable()
    .aliases.filter(({ from }) => template === from || template.startsWith(`${from}/`))
    .map(({ from, to }) => `${to}${template.slice(from.length)}`);
  return [template, ...seconds];
}

function fill(template: string, repository: string): string {
  const [owner = '', name = ''] = repository.split('/');
  const { numbers } = loadRestTable();
  return template.replace(/\{([\w-]+)\}/g, (_, parameter: string) => {
    if (parameter === 'owner' || parameter === 'template_owner') return owner;
    if (parameter === 'repo' || parameter === 'template_repo') return name;
    return numbers.has(parameter) ? '7' : (particular[parameter] ?? 'made-up');
  });
}

/** [0, 1] and [0, 2]: the repositories with these numbers. */
export const nodes = { own: 'R_kgDOAAAAAQ', foreign: 'R_kgDOAAAAAg' };

/** A node that is everything at once, so that it fits wherever an id is wanted. */
function factsOf(repository: string, repositoryNumber: number): NodeFacts {
  const pull = { headRepository: repository, head: 'sandbox/made-up', base: 'main' };
  return { type: 'Repository', repository, repositoryNumber, ref: 'refs/heads/sandbox/made-up', pull };
}

const github = new Map([
  [nodes.own, factsOf(own, 1)],
  [nodes.foreign, factsOf(foreign, 2)],
]);

export function mutationsWith(effect: GithubEffect): string[] {
  return [...loadGraphqlTable().mutations].filter(([, one]) => one === effect).map(([name]) => name);
}

/** Every id in its input is that of one node; what else it needs to be read is filled in. */
export function inputOf(mutation: string, id: string): Record<string, unknown> {
  const fields = loadGraphqlInputs().ofMutation(mutation) ?? new Map();
  const input: Record<string, unknown> = {};
  for (const [name, { type, isList }] of fields) {
    if (type === 'ID') input[name] = isList ? [id] : id;
  }
  return { ...input, ...needed[mutation]?.(id) };
}

const oid = '3'.repeat(40);
const needed: Readonly<Record<string, (id: string) => Record<string, unknown>>> = {
  createPullRequest: () => ({ headRefName: 'sandbox/made-up' }),
  createRef: () => ({ name: 'refs/heads/sandbox/made-up', oid }),
  updateRef: () => ({ oid }),
  updateRefs: () => ({ refUpdates: [{ name: 'refs/heads/sandbox/made-up', afterOid: oid }] }),
  createLinkedBranch: () => ({ name: 'sandbox/made-up', oid }),
  mergeBranch: () => ({ base: 'sandbox/made-up', head: 'main' }),
  createCommitOnBranch: (id) => ({
    branch: { id },
    fileChanges: { additions: [{ path: 'made-up.txt', contents: '' }] },
  }),
};

/** Code of the refusal; `allowed` when there is none. `writes`: what was put to the rules for branches. */
export async function askMutation(mutation: string, id: string, writes: GraphqlRefWrite[] = []): Promise<string> {
  const query = `mutation M($input: MadeUpInput!) { ${mutation}(input: $input) { clientMutationId } }`;
  const verdict = await judgeGraphql({
    method: 'POST',
    query: null,
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify({ query, variables: { input: inputOf(mutation, id) } })),
    mode: 'bot',
    effects: new Set(defaultEffects),
    covers: (repository) => repository === own,
    mutationEffect: (name) => loadGraphqlTable().mutations.get(name) ?? null,
    nodes: {
      look: async (ids) => new Map(ids.flatMap((one) => (github.has(one) ? [[one, github.get(one)!] as const] : []))),
    },
    refs: {
      judge: async (write) => {
        writes.push(write);
      },
    },
  });
  return verdict.allowed ? 'allowed' : verdict.refusal.code;
}
