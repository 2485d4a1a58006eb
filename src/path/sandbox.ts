// A sandbox as the stages see it: who it is and what it was registered to do. The registry in `identify/` owns it.

export type ProofKind = 'ip' | 'secret' | 'mtls' | 'socket';
export type AuthMode = 'bot' | 'user';

/** A port of the host's loopback, and the one at which the sandbox finds it on its own. */
export interface HostPort {
  readonly port: number;
  readonly inside: number;
}

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
  /** Set for one of `run`: a process in the network namespace that its door is in. */
  readonly namespacePid?: number | null;
  /** What it was started with; the policy may have more for every sandbox of `run`. Left out: none. */
  readonly hostPorts?: readonly HostPort[];
}

type Right = 'repo' | 'branch' | 'credential';

const fields = { repo: 'repos', branch: 'allowed_branches', credential: 'credentials' } as const;

/** How a right comes to a sandbox that lacks it, in the words of whoever let it in: a person who typed `run`, or an operator. */
export function toGiveRight(sandbox: Sandbox, right: Right, value: string): string {
  if (sandbox.namespacePid == null) return `register the sandbox with "${fields[right]}": ["${value}"]`;
  // A name that a shell would read otherwise came out of the sandbox.
  const named = /^[\w./*-]+$/.test(value) ? ` --${right} ${value}` : ` --${right} …`;
  return `start the sandbox with it: sallyport run${named}`;
}
