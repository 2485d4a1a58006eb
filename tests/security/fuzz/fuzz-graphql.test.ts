// Requests for GitHub's GraphQL, damaged: never a crash, and a mutation is let through only when what it does is allowed.
// What was let through is read again with a parser of its own, from the bytes that would be sent.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { type DocumentNode, type FieldNode, Kind, parse, type SelectionSetNode } from 'graphql';
import { describe, expect, test } from 'vitest';
import { defaultEffects } from '../../../src/path/github-effects.ts';
import { loadGraphqlTable } from '../../../src/stages/authorize/github/operation-table.ts';
import { mutated, mutatedText } from '../../support/fuzz-mutations.ts';
import { fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { ask, ids, inRepository } from '../../unit/stages/authorize/github/graphql/graphql-ask.ts';

reportFuzz('GraphQL requests');

/** What gh sends for its ordinary commands. */
const place = new URL('../../unit/stages/authorize/github/graphql/graphql-gh-documents.json', import.meta.url);
const fromGh = (JSON.parse(readFileSync(place, 'utf8')) as { requests: unknown[] }[]).flatMap(
  ({ requests }) => requests,
);
const merge = 'mutation M($input:MergePullRequestInput!){mergePullRequest(input:$input){clientMutationId}}';
const input = { pullRequestId: ids.pull };
const made: unknown[] = [
  { query: inRepository('issues(first: 5) { nodes { title } }') },
  { query: merge, variables: { input } },
  { query: `mutation { addComment(input: {subjectId: "${ids.issue}", body: "x"}) { clientMutationId } }` },
  {
    query: `mutation A { a: mergePullRequest(input: {pullRequestId: "${ids.pull}"}) { clientMutationId } } query B { viewer { login } }`,
    operationName: 'B',
  },
  {
    query: `mutation { ...F } fragment F on Mutation { deleteRef(input: {refId: "${ids.ref}"}) { clientMutationId } }`,
  },
  { query: `query Q($id: ID!) { node(id: $id) { ... on Issue { title } } }`, variables: { id: ids.foreignIssue } },
  [{ query: '{ viewer { login } }' }, { query: merge, variables: { input } }],
];
const recorded = [...fromGh, ...made];
/** The JSON damaged as a whole, or the document in it alone: most of what is left of the first is no JSON. */
const damaged = fc.oneof(
  mutated(recorded.map((one) => Buffer.from(JSON.stringify(one)))),
  fc
    .constantFrom(...recorded.filter((one) => !Array.isArray(one)).map((one) => one as { query: string }))
    .chain((one) => mutatedText([one.query]).map((query) => Buffer.from(JSON.stringify({ ...one, query })))),
);

/** Names of the root fields of every mutation in a document, through fragments. */
function mutationsIn(document: DocumentNode): string[] {
  const fragments = new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one.selectionSet] as const] : [],
    ),
  );
  const fieldsOf = (set: SelectionSetNode, seen: readonly string[]): FieldNode[] =>
    set.selections.flatMap((one) => {
      if (one.kind === Kind.FIELD) return [one];
      if (one.kind === Kind.INLINE_FRAGMENT) return fieldsOf(one.selectionSet, seen);
      const name = one.name.value;
      return seen.includes(name)
        ? []
        : fieldsOf(fragments.get(name) ?? { kind: Kind.SELECTION_SET, selections: [] }, [...seen, name]);
    });
  return document.definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION && one.operation !== 'query'
      ? fieldsOf(one.selectionSet, []).map(({ name }) => name.value)
      : [],
  );
}

function sentMutations(body: Buffer): string[] {
  const sent = JSON.parse(body.toString('utf8')) as { query: string } | { query: string }[];
  return [sent].flat().flatMap(({ query }) => mutationsIn(parse(query)));
}

describe('a damaged GraphQL request', () => {
  const { mutations } = loadGraphqlTable();

  test('does nothing that is not allowed', { timeout: fuzzTimeoutMs }, async () => {
    let allowed = 0;
    await fuzzSlowly(damaged, 1_000, async (body) => {
      const { verdict } = await ask(body);
      if (!verdict.allowed) return;
      allowed++;
      for (const name of sentMutations(verdict.body)) {
        if (name !== '__typename') expect(defaultEffects).toContain(mutations.get(name));
      }
    });
    // A judge that refuses everything would pass, and would be of no use.
    expect(allowed).toBeGreaterThan(5);
  });

  test('put together from every mutation there is does only what is allowed', { timeout: fuzzTimeoutMs }, async () => {
    const name = fc.constantFrom(...mutations.keys());
    const argument = fc
      .constantFrom(...Object.values(ids))
      .chain((id) =>
        fc
          .constantFrom('subjectId', 'pullRequestId', 'issueId', 'repositoryId', 'id', 'refId')
          .map((key) => `(input: {${key}: "${id}"})`),
      );
    const field = fc.tuple(
      fc.constantFrom('', 'a: ', 'addComment: '),
      name,
      argument,
      fc.constantFrom('', ' @include(if: true)', ' @skip(if: false)'),
    );
    const form = fc.constantFrom(
      (text: string) => `mutation { ${text} }`,
      (text: string) => `mutation { ... on Mutation { ${text} } }`,
      (text: string) => `mutation M { ...F } fragment F on Mutation { ...G } fragment G on Mutation { ${text} }`,
      (text: string) => `#{ viewer { login } }\n,,mutation,{,${text},}`,
      (text: string) => `query Q { viewer { login } } mutation M { ${text} }`,
      (text: string) => `subscription { ${text} }`,
    );
    const passed = new Set<string>();
    await fuzzSlowly(
      fc.tuple(form, fc.array(field, { minLength: 1, maxLength: 3 }), fc.constantFrom(undefined, 'M', 'Q')),
      600,
      async ([write, fields, operationName]) => {
        const query = write(
          fields
            .map(([alias, one, given, directive]) => `${alias}${one}${given}${directive} { clientMutationId }`)
            .join(' '),
        );
        const { verdict } = await ask({ query, ...(operationName === undefined ? {} : { operationName }) });
        if (!verdict.allowed) return;
        for (const one of sentMutations(verdict.body)) {
          if (one !== '__typename') expect(defaultEffects).toContain(mutations.get(one));
          passed.add(one);
        }
      },
    );
    // One in thirty is of an allowed effect, and few of these have the arguments they need.
    expect(passed.size).toBeGreaterThan(0);
  });

  test('changes nothing at all where reading is all that is allowed', { timeout: fuzzTimeoutMs }, async () => {
    let read = 0;
    await fuzzSlowly(damaged, 500, async (body) => {
      const { verdict } = await ask(body, { effects: ['read'] });
      if (!verdict.allowed) return;
      read++;
      expect(sentMutations(verdict.body).filter((name) => name !== '__typename')).toEqual([]);
    });
    expect(read).toBeGreaterThan(5);
  });

  test('asks of no other repository, whatever is put around its name', { timeout: fuzzTimeoutMs }, async () => {
    const around = fc.tuple(
      fc.constantFrom('', ',', '\n', '#x\n', '\ufeff', '""', ' '),
      fc.constantFrom('other', 'o', 'O', 'o ', 'o\\u0000'),
      fc.constantFrom('secret', 'r', 'r.git', 'R', '..', 'r/../secret'),
    );
    let own = 0;
    await fuzzSlowly(around, 100, async ([space, owner, name]) => {
      const { verdict } = await ask(
        `${space}{ repository(owner:${space}"${owner}" name: "${name}") { issues(first:1) { nodes { title } } } }`,
      );
      const isOwn = /^o$/i.test(owner) && /^r(\.git)?$/i.test(name);
      if (!isOwn) expect(verdict.allowed).toBe(false);
      else if (verdict.allowed) own++;
    });
    expect(own).toBeGreaterThan(0);
  });
});
