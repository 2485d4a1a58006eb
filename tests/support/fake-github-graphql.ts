// The GraphQL side of the fake GitHub: executes any document over a small schema of the fields that gh asks for, against
// the state. It allows everything, as GitHub does for a token with all rights: what must not happen is the door's to stop.
import { buildSchema, graphql } from 'graphql';
import { fakeGithubSchema } from './fake-github-schema.ts';
import { type FakeGithubState, type FakeItem, type FakeRepository, nodeId, tip, when } from './fake-github-state.ts';

type Fields = Record<string, unknown>;
type Input = { readonly input: Readonly<Record<string, string>> };

const schema = buildSchema(fakeGithubSchema, { assumeValid: true });
const viewer = { __typename: 'User', id: userId('the-agent'), login: 'the-agent', name: 'The Agent' };

export async function answerGraphql(state: FakeGithubState, host: string, body: Buffer): Promise<unknown> {
  const { query, variables } = JSON.parse(body.toString()) as { query: string; variables?: Fields };
  const rootValue = { ...queries(state, host), ...mutations(state, host) };
  return graphql({ schema, source: query, rootValue, variableValues: variables ?? {} });
}

function queries(state: FakeGithubState, host: string): Fields {
  const graph = new Graph(host);
  const node = ({ id }: { id: string }): Fields | null => {
    const item = state.item(id);
    if (item !== undefined) return graph.item(item);
    const repository = state.repositories.find((candidate) => candidate.id === id);
    if (repository !== undefined) return graph.repository(repository);
    const home = state.repositories.find(({ number }) => labelId(number) === id);
    return home === undefined ? null : graph.label(home);
  };
  return {
    viewer,
    node,
    user: ({ login }: { login: string }) => ({ ...viewer, id: userId(login), login, name: login }),
    nodes: ({ ids }: { ids: string[] }) => ids.map((id) => node({ id })),
    repository: ({ owner, name }: { owner: string; name: string }) => {
      const found = state.find(owner, name);
      if (found === undefined) throw new Error(`Could not resolve to a Repository with the name '${owner}/${name}'.`);
      return graph.repository(found);
    },
    search: ({ query }: { query: string }) => {
      const found = state.search(query).map((item) => graph.item(item));
      return { ...connection(found), issueCount: found.length };
    },
  };
}

function mutations(state: FakeGithubState, host: string): Fields {
  const graph = new Graph(host);
  const itemOf = (id: string | undefined): FakeItem => {
    const item = state.item(id ?? '');
    if (item === undefined) throw new Error(`Could not resolve to a node with the global id of '${id}'`);
    return item;
  };
  const repositoryOf = (id: string | undefined): FakeRepository => {
    const found = state.repositories.find((repository) => repository.id === id);
    if (found === undefined) throw new Error(`Could not resolve to a node with the global id of '${id}'`);
    return found;
  };
  const change = (
    idField: string,
    field: 'pullRequest' | 'issue',
    changes: (item: FakeItem, input: Fields) => void,
  ) => {
    return ({ input }: Input): Fields => {
      const item = itemOf(input[idField]);
      changes(item, input);
      return { [field]: graph.item(item) };
    };
  };
  const setState = (to: FakeItem['state']) => (item: FakeItem) => {
    item.state = to;
  };
  const edit = (item: FakeItem, { title, body }: Fields): void => {
    if (typeof title === 'string') item.title = title;
    if (typeof body === 'string') item.body = body;
  };
  return {
    createIssue: ({ input }: Input) => ({
      issue: graph.item(
        state.add(repositoryOf(input.repositoryId), 'Issue', { title: input.title!, body: input.body! }),
      ),
    }),
    createPullRequest: ({ input }: Input) => {
      const { title = '', body = '', headRefName: head = '', baseRefName: base = '' } = input;
      const item = state.add(repositoryOf(input.repositoryId), 'PullRequest', { title, body, head, base });
      return { pullRequest: graph.item(item) };
    },
    addComment: ({ input }: Input) => {
      const item = itemOf(input.subjectId);
      const { id } = state.comment(item, input.body!);
      return { commentEdge: { node: { id, url: `https://${host}/comment/${id}` } } };
    },
    addPullRequestReview: ({ input }: Input) => {
      state.review(itemOf(input.pullRequestId), input.event!, input.body ?? '');
      return { clientMutationId: null };
    },
    updateIssue: change('id', 'issue', edit),
    updatePullRequest: change('pullRequestId', 'pullRequest', edit),
    addLabelsToLabelable: ({ input }: Input) => {
      itemOf(input.labelableId).labels.push('bug');
      return { __typename: 'AddLabelsToLabelablePayload' };
    },
    requestReviews: change('pullRequestId', 'pullRequest', () => {}),
    closeIssue: change('issueId', 'issue', setState('CLOSED')),
    reopenIssue: change('issueId', 'issue', setState('OPEN')),
    closePullRequest: change('pullRequestId', 'pullRequest', setState('CLOSED')),
    reopenPullRequest: change('pullRequestId', 'pullRequest', setState('OPEN')),
    mergePullRequest: change('pullRequestId', 'pullRequest', setState('MERGED')),
    enablePullRequestAutoMerge: change('pullRequestId', 'pullRequest', setState('MERGED')),
  };
}

/** The state as GraphQL shows it. A field that is not here is null. */
class Graph {
  readonly #host: string;

  constructor(host: string) {
    this.#host = host;
  }

  repository(repository: FakeRepository): Fields {
    const { owner, name, id, number } = repository;
    const items = (kind: FakeItem['kind'], states: readonly string[] | null) =>
      connection(
        repository.items
          .filter((item) => item.kind === kind && (states === null || states.includes(item.state)))
          .map((item) => this.item(item)),
      );
    const one = (wanted: number): Fields | null => {
      const item = repository.items.find((candidate) => candidate.number === wanted);
      return item === undefined ? null : this.item(item);
    };
    return {
      __typename: 'Repository',
      id,
      databaseId: number,
      name,
      nameWithOwner: `${owner}/${name}`,
      owner: { __typename: 'Organization', id: nodeId('O', 1), login: owner },
      url: `https://${this.#host}/${owner}/${name}`,
      description: `The ${name} of ${owner}`,
      isPrivate: true,
      hasIssuesEnabled: true,
      viewerPermission: 'ADMIN',
      defaultBranchRef: { name: 'main', prefix: 'refs/heads/', target: { __typename: 'Commit', oid: tip } },
      mergeCommitAllowed: true,
      squashMergeAllowed: true,
      rebaseMergeAllowed: true,
      labels: connection([this.label(repository)]),
      label: ({ name: wanted }: { name: string }) => (wanted === 'bug' ? this.label(repository) : null),
      assignableUsers: connection([viewer]),
      milestones: connection([]),
      projects: connection([]),
      refs: connection([]),
      pullRequestTemplates: [],
      issueTemplates: [],
      issues: ({ states }: { states?: string[] }) => items('Issue', states ?? null),
      pullRequests: ({ states, headRefName }: { states?: string[]; headRefName?: string }) => {
        const found = items('PullRequest', states ?? null);
        if (headRefName === undefined) return found;
        return connection(found.nodes.filter((node) => node.headRefName === headRefName));
      },
      issue: ({ number: wanted }: { number: number }) => one(wanted),
      pullRequest: ({ number: wanted }: { number: number }) => one(wanted),
      issueOrPullRequest: ({ number: wanted }: { number: number }) => one(wanted),
      releases: connection(
        repository.releases.map(({ number: release, tag, title }) => ({
          __typename: 'Release',
          id: nodeId('RE', number, release),
          name: title,
          tagName: tag,
          isDraft: false,
          isLatest: true,
          isPrerelease: false,
          createdAt: when,
          publishedAt: when,
        })),
      ),
    };
  }

  /** Every repository has one label. */
  label(repository: FakeRepository): Fields {
    const { number } = repository;
    const home = () => this.repository(repository);
    return { __typename: 'Label', id: labelId(number), name: 'bug', color: 'ff0000', repository: home };
  }

  item(item: FakeItem): Fields {
    const { kind, id, number, title, body, state, repository, head, base } = item;
    const url = `https://${this.#host}/${repository.owner}/${repository.name}`;
    const comments = item.comments.map(({ id: comment, author, body: text }) => ({
      id: comment,
      author: { __typename: 'User', login: author },
      authorAssociation: 'MEMBER',
      body: text,
      createdAt: when,
      url: `${url}/issues/${number}#${comment}`,
      reactionGroups: [],
    }));
    const shared = {
      __typename: kind,
      id,
      number,
      title,
      body,
      state,
      url: `${url}/${kind === 'Issue' ? 'issues' : 'pull'}/${number}`,
      author: viewer,
      createdAt: when,
      updatedAt: when,
      closed: state !== 'OPEN',
      comments: connection(comments),
      labels: connection(item.labels.map((name) => ({ id: name, name }))),
      assignees: connection([]),
      projectCards: connection([]),
      projectItems: connection([]),
      reactionGroups: [],
      repository: () => this.repository(repository),
    };
    if (kind === 'Issue') return shared;
    const contexts = connection([checkRun(url)]);
    const rollup = { state: 'SUCCESS', contexts };
    const commit = { __typename: 'Commit', oid: tip, committedDate: when, statusCheckRollup: rollup };
    return {
      ...shared,
      headRefName: head,
      headRefOid: tip,
      baseRefName: base,
      baseRef: { name: base, branchProtectionRule: null },
      isCrossRepository: false,
      isDraft: false,
      mergeable: 'MERGEABLE',
      mergeStateStatus: 'CLEAN',
      additions: 3,
      deletions: 1,
      changedFiles: 1,
      headRepository: () => this.repository(repository),
      headRepositoryOwner: { __typename: 'Organization', id: nodeId('O', 1), login: repository.owner },
      reviews: connection(item.reviews.map((review) => ({ ...review, author: viewer, submittedAt: when }))),
      latestReviews: connection([]),
      reviewRequests: connection([]),
      commits: connection([{ commit }]),
      statusCheckRollup: rollup,
    };
  }
}

/** Of accounts: in no repository. */
function userId(login: string): string {
  return nodeId('U', login.length);
}

function labelId(repository: number): string {
  return nodeId('LA', repository, 77);
}

function checkRun(url: string): Fields {
  const workflow = { workflow: { name: 'CI' }, event: 'push' };
  return {
    __typename: 'CheckRun',
    name: 'build',
    status: 'COMPLETED',
    conclusion: 'SUCCESS',
    startedAt: when,
    completedAt: when,
    detailsUrl: `${url}/actions/runs/501/jobs/701`,
    isRequired: true,
    checkSuite: { workflowRun: workflow },
  };
}

function connection(nodes: readonly Fields[]): { readonly nodes: readonly Fields[] } & Fields {
  const edges = nodes.map((node) => ({ node, cursor: '' }));
  return { totalCount: nodes.length, nodes, edges, pageInfo: { hasNextPage: false, endCursor: null } };
}
