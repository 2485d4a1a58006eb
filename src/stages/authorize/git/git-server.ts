// What a decision about a push may ask of the server it is for. A port: whoever starts the gateway hands in an
// implementation that asks over the same guarded way out as everything else, with the credential of the push itself.
import type { Identified, Permission } from '../../../path/flow.ts';
import type { RemoteRef } from '../../../protocols/git/fetch-v2.ts';
import type { Commit } from '../../../protocols/git/objects/object-commit.ts';
import type { ObjectType } from '../../../protocols/git/objects/object-id.ts';
import type { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';

export interface RemoteObject {
  readonly type: ObjectType;
  readonly content: Buffer;
}

/**
 * One repository, asked on behalf of one push. Every answer is bounded; an answer that cannot be had or cannot be
 * believed is thrown as a GitWireError or a Refusal, never guessed.
 */
export interface GitServer {
  /** The refs whose names begin with one of `prefixes`. */
  refs(prefixes: readonly string[]): Promise<readonly RemoteRef[]>;
  /** The commits that can be reached from `wants` and not from `haves`, under ids computed from their content. */
  commits(wants: readonly string[], haves: readonly string[]): Promise<ReadonlyMap<string, Commit>>;
  /** Which of these commits the server has, whether or not a ref reaches them. `tip` is the value of one of its refs. */
  known(tip: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** These objects, each without what it refers to. What the server does not have is an error. */
  objects(ids: readonly string[]): Promise<ReadonlyMap<string, RemoteObject>>;
}

/** `signal` ends every question under way when the client is gone. What the answers cost is charged to `budget`. */
export type OpenGitServer = (
  flow: Identified,
  permission: Permission,
  signal: AbortSignal,
  budget?: WorkBudget,
) => GitServer;
