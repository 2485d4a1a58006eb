// A sandbox as the stages see it: who it is and what it was registered to do. The registry in `identify/` owns it.

export type ProofKind = 'ip' | 'secret' | 'mtls' | 'socket';
export type AuthMode = 'bot' | 'user';

export interface Sandbox {
  readonly id: string;
  readonly containerIp: string | null;
  readonly containerId: string | null;
  /** Canonical `owner/repo`, lower case, without `.git`; `owner/*` for every repository of an owner. */
  readonly repos: readonly string[];
  readonly authMode: AuthMode;
  readonly allowedBranches: readonly string[];
  /** Names of credentials it may use; null: every configured one. */
  readonly credentials: readonly string[] | null;
  readonly proof: readonly ProofKind[];
  readonly createdAt: string;
}
