// The part of GitHub's GraphQL schema that gh 2.23 asks for. Laxer than GitHub's own: nothing is non-null, enums are
// strings, and inputs are taken as they come. Whether a document is one GitHub would take is not tested here.

const types = `
interface Node { id: ID }
interface Actor { login: String }
interface RepositoryOwner { id: ID login: String }
interface RepositoryNode { repository: Repository }
interface Lockable { locked: Boolean }

union IssueOrPullRequest = Issue | PullRequest
union RequestedReviewer = User | Team
union SearchResultItem = Issue | PullRequest | Repository | User | Organization
union StatusCheckRollupContext = CheckRun | StatusContext

type Query {
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]
  repository(owner: String!, name: String!, followRenames: Boolean): Repository
  search(query: String!, type: SearchType!, first: Int, last: Int, after: String): SearchResultItemConnection
  user(login: String!): User
  viewer: User
}

type Repository implements Node {
  id: ID databaseId: Int name: String nameWithOwner: String description: String url: String viewerPermission: String
  isArchived: Boolean isPrivate: Boolean hasIssuesEnabled: Boolean hasWikiEnabled: Boolean
  mergeCommitAllowed: Boolean rebaseMergeAllowed: Boolean squashMergeAllowed: Boolean
  owner: RepositoryOwner
  parent: Repository
  defaultBranchRef: Ref
  assignableUsers(first: Int, after: String): UserConnection
  issue(number: Int!): Issue
  pullRequest(number: Int!): PullRequest
  issueOrPullRequest(number: Int!): IssueOrPullRequest
  issues(first: Int, after: String, orderBy: IssueOrder, states: [IssueState!], filterBy: IssueFilters): IssueConnection
  pullRequests(
    states: [PullRequestState!], baseRefName: String, headRefName: String
    first: Int, after: String, orderBy: IssueOrder
  ): PullRequestConnection
  label(name: String!): Label
  labels(first: Int, orderBy: LabelOrder, after: String, query: String): LabelConnection
  milestone(number: Int!): Milestone
  release(tagName: String!): Release
  releases(first: Int, orderBy: ReleaseOrder, after: String): ReleaseConnection
}

type Issue implements Node & RepositoryNode & Lockable {
  id: ID number: Int title: String body: String url: String state: String stateReason: String
  createdAt: String updatedAt: String isPinned: Boolean locked: Boolean activeLockReason: String
  author: Actor
  repository: Repository
  milestone: Milestone
  assignees(first: Int): UserConnection
  labels(first: Int): LabelConnection
  comments(first: Int, last: Int, after: String): IssueCommentConnection
  projectCards(first: Int): ProjectCardConnection
  reactionGroups: [ReactionGroup]
}

type PullRequest implements Node & RepositoryNode & Lockable {
  id: ID number: Int title: String body: String url: String state: String reviewDecision: String
  createdAt: String updatedAt: String isDraft: Boolean locked: Boolean activeLockReason: String
  additions: Int deletions: Int changedFiles: Int
  baseRefName: String headRefName: String headRefOid: String isCrossRepository: Boolean maintainerCanModify: Boolean
  mergeable: String mergeStateStatus: String isInMergeQueue: Boolean isMergeQueueEnabled: Boolean
  author: Actor
  repository: Repository
  baseRef: Ref
  headRepository: Repository
  headRepositoryOwner: RepositoryOwner
  milestone: Milestone
  assignees(first: Int): UserConnection
  labels(first: Int): LabelConnection
  comments(first: Int, last: Int, after: String): IssueCommentConnection
  commits(first: Int, last: Int): PullRequestCommitConnection
  reviews(first: Int, after: String): PullRequestReviewConnection
  latestReviews(first: Int): PullRequestReviewConnection
  reviewRequests(first: Int): ReviewRequestConnection
  projectCards(first: Int): ProjectCardConnection
  projectItems(first: Int, after: String): ProjectV2ItemConnection
  reactionGroups: [ReactionGroup]
  statusCheckRollup: StatusCheckRollup
}

type IssueComment implements Node & RepositoryNode {
  id: ID body: String url: String createdAt: String authorAssociation: String viewerDidAuthor: Boolean
  includesCreatedEdit: Boolean isMinimized: Boolean minimizedReason: String
  author: Actor repository: Repository reactionGroups: [ReactionGroup]
}

type PullRequestReview implements Node & RepositoryNode {
  id: ID body: String state: String submittedAt: String authorAssociation: String includesCreatedEdit: Boolean url: String
  author: Actor repository: Repository commit: Commit reactionGroups: [ReactionGroup]
}

type CheckRun implements Node {
  id: ID name: String status: String conclusion: String startedAt: String completedAt: String detailsUrl: String
  isRequired(pullRequestId: ID): Boolean
  checkSuite: CheckSuite
  repository: Repository
}

type StatusContext implements Node {
  id: ID context: String state: String targetUrl: String createdAt: String
  isRequired(pullRequestId: ID): Boolean
}

type Release implements Node {
  id: ID databaseId: Int name: String tagName: String isDraft: Boolean isLatest: Boolean isPrerelease: Boolean
  createdAt: String publishedAt: String
  repository: Repository
}

type BranchProtectionRule implements Node { id: ID requiresStrictStatusChecks: Boolean }
type CheckSuite implements Node { id: ID repository: Repository workflowRun: WorkflowRun }
type Commit implements Node { id: ID oid: String repository: Repository statusCheckRollup: StatusCheckRollup }
type Deployment implements Node { id: ID repository: Repository }
type Label implements Node { id: ID name: String color: String description: String repository: Repository }
type Milestone implements Node {
  id: ID number: Int title: String description: String dueOn: String repository: Repository
}
type Organization implements Node & Actor & RepositoryOwner { id: ID login: String name: String }
type PageInfo { endCursor: String hasNextPage: Boolean }
type Project implements Node { id: ID name: String }
type ProjectCard implements Node { id: ID column: ProjectColumn project: Project }
type ProjectColumn implements Node { id: ID name: String }
type ProjectV2 implements Node { id: ID title: String }
type ProjectV2Item implements Node { id: ID project: ProjectV2 }
type PullRequestCommit implements Node { id: ID commit: Commit }
type PullRequestReviewThread implements Node { id: ID repository: Repository }
type ReactingUserConnection { totalCount: Int }
type ReactionGroup { content: String users: ReactingUserConnection }
type Ref implements Node {
  id: ID name: String prefix: String repository: Repository branchProtectionRule: BranchProtectionRule
}
type ReviewRequest implements Node { id: ID requestedReviewer: RequestedReviewer }
type StatusCheckRollup implements Node {
  id: ID state: String contexts(first: Int, after: String): StatusCheckRollupContextConnection
}
type Team implements Node { id: ID name: String slug: String organization: Organization }
type User implements Node & Actor & RepositoryOwner { id: ID login: String name: String }
type Workflow implements Node { id: ID name: String }
type WorkflowRun implements Node { id: ID event: String workflow: Workflow }
`;

const connected =
  'Issue IssueComment Label ProjectCard ProjectV2Item PullRequest PullRequestCommit PullRequestReview Release ReviewRequest SearchResultItem StatusCheckRollupContext User';

/** Every mutation with what it gives back. */
const mutations = {
  addComment: 'commentEdge: IssueCommentEdge',
  addLabelsToLabelable: 'labelable: Node',
  addPullRequestReview: 'pullRequestReview: PullRequestReview',
  archiveRepository: 'repository: Repository',
  closeIssue: 'issue: Issue',
  closePullRequest: 'pullRequest: PullRequest',
  convertPullRequestToDraft: 'pullRequest: PullRequest',
  createIssue: 'issue: Issue',
  createPullRequest: 'pullRequest: PullRequest',
  createRepository: 'repository: Repository',
  deleteIssue: 'repository: Repository',
  disablePullRequestAutoMerge: 'pullRequest: PullRequest',
  enablePullRequestAutoMerge: 'pullRequest: PullRequest',
  lockLockable: 'lockedRecord: Lockable',
  mergePullRequest: 'pullRequest: PullRequest',
  pinIssue: 'issue: Issue',
  reopenIssue: 'issue: Issue',
  reopenPullRequest: 'pullRequest: PullRequest',
  requestReviews: 'pullRequest: PullRequest',
  transferIssue: 'issue: Issue',
  updateIssue: 'issue: Issue',
  updatePullRequest: 'pullRequest: PullRequest',
};

/** Enums and inputs that stand in arguments: anything is taken for one. */
const inputs = 'IssueFilters IssueOrder IssueState LabelOrder PullRequestState ReleaseOrder SearchType';

function connectionOf(type: string): string {
  const counts = 'totalCount: Int issueCount: Int';
  return `type ${type}Connection { nodes: [${type}] edges: [${type}Edge] pageInfo: PageInfo ${counts} }
type ${type}Edge { node: ${type} cursor: String }`;
}

function payloadOf(mutation: string, fields: string): string {
  const name = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`;
  return `extend type Mutation { ${mutation}(input: ${name}Input!): ${name}Payload }
type ${name}Payload { clientMutationId: String ${fields} }
scalar ${name}Input`;
}

export const fakeGithubSchema = [
  types,
  'type Mutation { clientMutationId: String }',
  ...connected.split(' ').map(connectionOf),
  ...Object.entries(mutations).map(([name, fields]) => payloadOf(name, fields)),
  ...inputs.split(' ').map((name) => `scalar ${name}`),
].join('\n');
