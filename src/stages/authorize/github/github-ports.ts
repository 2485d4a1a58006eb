// What the rules for GitHub may ask of the outside: the git server of a repository, and GitHub itself, over the guarded
// way out and with the gateway's own credential.
import type { Identified, Permission } from '../../../path/flow.ts';
import type { Judged, PersonPorts } from '../ask-person.ts';
import type { OpenGitServer } from '../git/git-server.ts';
import type { PullBranches } from './judge-ref-write.ts';

export interface GithubQuestions {
  /** The branches of a pull request of the repository that `permission` is about. */
  pull(flow: Identified, permission: Permission, number: string, signal: AbortSignal): Promise<PullBranches>;
  /** Canonical `owner/name` of the repository with this number; null: there is none that the credential can see. */
  repositoryById(flow: Identified, permission: Permission, id: string, signal: AbortSignal): Promise<string | null>;
  /** Sends one GraphQL body of our own; the JSON of the answer. */
  graphql(flow: Identified, permission: Permission, body: Buffer, signal: AbortSignal): Promise<unknown>;
}

/** With what it takes to ask a person about what only a body tells. */
export interface AskingGithub extends GithubPorts, PersonPorts {
  /** By the policy in force now. */
  readonly decideNow: (flow: Identified) => Judged;
}

export interface GithubPorts {
  readonly openGitServer: OpenGitServer;
  readonly questions: GithubQuestions;
}
