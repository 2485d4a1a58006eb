// What a login consists of, and what a place in which one is kept can do. Types, and the few comparisons that all who
// handle a login must make in the same way; values stay inside of Secrets.
import { reveal, type Secret } from '../../../path/secret.ts';

export interface Login {
  /** Knows when it ends. Null: one has to be asked for first. */
  readonly access: Secret | null;
  /** Null: it cannot be renewed. */
  readonly refresh: Secret | null;
  /** Kept for the agent whose file it is; nothing here believes it. */
  readonly idToken: Secret | null;
  /** Fields that go out with every access token: the account. */
  readonly fields: Secret['fields'];
  /** What was granted, separated by spaces; null: not known. */
  readonly scope: string | null;
  /** The OAuth client it was given to; null: the usual one. */
  readonly clientId: string | null;
  /** When the access token was given to another gateway of ours, which tells how long its life is; absent: not known. */
  readonly obtainedMs?: number;
}

export const noLogin: Login = {
  access: null,
  refresh: null,
  idToken: null,
  fields: [],
  scope: null,
  clientId: null,
};

export interface LoginKeep {
  /** Where it is kept, in words: `~/.codex/auth.json`. */
  readonly place: string;
  /** What a person must do to have a new one: 'run `codex login`'. */
  readonly again: string;
  /**
   * What is there, without waiting; `noLogin` where it cannot be known without waiting. Null: nobody is logged in.
   * `anew`: also when it was looked at a moment ago. Throws SourceError.
   */
  load(anew?: boolean): Login | null;
  /** Nobody else who keeps to the lock renews this login during `work`, which gets what is there now. */
  exclusively<Result>(work: (login: Login | null) => Promise<Result>): Promise<Result>;
  /**
   * Puts `login` where the old one is; when it resolves, it is on the disk. Unless what is there is not `replaceable`
   * (by its refresh token): then somebody has logged in meanwhile, and theirs stays. Rejects when it cannot be written.
   */
  save(login: Login, replaceable: (refresh: Secret | null) => boolean): Promise<void>;
}

export function sameValue(one: Secret | null, other: Secret | null): boolean {
  return one === other || (one !== null && other !== null && reveal(one) === reveal(other));
}

export function secretsOf({ access, refresh, idToken }: Login): Secret[] {
  return [access, refresh, idToken].filter((secret) => secret !== null);
}
