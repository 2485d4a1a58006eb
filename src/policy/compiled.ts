// The compiled form of the policy document: what the stages read. Types only, so that a stage can know the shape
// of the policy without importing how it is made.
import type { GithubEffect } from '../flow/github-effects.ts';
import type { AuthMode } from '../flow/sandbox.ts';
import type { Glob } from '../kit/glob.ts';

/** Answers whether a canonical host is covered. `*.a.b` covers subdomains at any depth, never the apex. */
export interface HostPattern {
  readonly text: string;
  covers(host: string): boolean;
}

/** A path glob: `*` stays inside a segment, `**` crosses them. Linear time. */
export interface PathPattern {
  readonly text: string;
  covers(path: string): boolean;
}

export interface AllowRule {
  /** e.g. `allow[2]` or `allow[0] (preset anthropic)`: what a decision names as its rule. */
  readonly name: string;
  readonly line: number | null;
  readonly host: HostPattern;
  /** null: every method. */
  readonly methods: ReadonlySet<string> | null;
  /** null: every path. */
  readonly paths: readonly PathPattern[] | null;
  readonly ports: readonly number[];
  readonly plainHttp: boolean;
  readonly tunnel: boolean;
}

export type Injection =
  | { readonly kind: 'header'; readonly header: string; readonly prefix: string }
  | { readonly kind: 'basic'; readonly username: string }
  | { readonly kind: 'query'; readonly parameter: string };

export type SourceSpec =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[]; readonly ttlSeconds: number }
  | { readonly kind: 'environment'; readonly variable: string }
  /** Waits for `sallyport secret set NAME`. */
  | { readonly kind: 'memory' }
  | GithubAppSpec;

/** Names of GitHub's permissions and how far each goes: read, write or admin. */
export type AppPermissions = Readonly<Record<string, string>>;

/** A GitHub App: its tokens are minted for each sandbox. */
export interface GithubAppSpec {
  readonly kind: 'github-app';
  /** App id or client id. */
  readonly appId: string;
  readonly privateKey: Exclude<SourceSpec, GithubAppSpec>;
  /** null: found by repository. */
  readonly installation: number | null;
  /** As the operator wrote them; null: what the policy can use, as far as the App has it. */
  readonly permissions: AppPermissions | null;
  /** What the effects that `github.effects` allows in any mode can use. */
  readonly usable: AppPermissions;
  /** Where its API is: `prefix` stands before every path. */
  readonly api: { readonly host: string; readonly prefix: string };
}

/** Where one credential goes and in which form. A credential may have several, e.g. github: REST and git. */
export interface Placement {
  readonly hosts: readonly HostPattern[];
  /** null: every path of those hosts. */
  readonly paths: readonly PathPattern[] | null;
  readonly injection: Injection;
}

export interface CredentialSpec {
  readonly name: string;
  readonly line: number | null;
  readonly placements: readonly Placement[];
  /** Lower-case header names and query parameters in which this provider's clients send auth: always removed. */
  readonly stripHeaders: readonly string[];
  readonly stripQuery: readonly string[];
  /** Fields set only when the client did not send them (anthropic-version). */
  readonly companionDefaults: readonly (readonly [name: string, value: string])[];
  /** Fields always set, from configuration (OpenAI-Organization). */
  readonly companionForced: readonly (readonly [name: string, value: string])[];
  /** The upstream is useful without a credential: forward without one when none is set. */
  readonly anonymous: boolean;
  readonly source: SourceSpec;
}

export interface BlockedApiPattern {
  /** e.g. `policy.blocked_api_patterns.DELETE[0]` */
  readonly rule: string;
  readonly text: string;
  matches(path: string): boolean;
}

export interface Limits {
  readonly requestsPerMinute: number;
  readonly concurrentRequests: number;
  readonly connections: number;
  readonly headBytes: number;
  /** 0: no limit. */
  readonly requestBodyBytes: number;
  /** One push, and all pushes that wait on disk together. */
  readonly pushBytes: number;
  readonly spoolBytes: number;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** `port: null` keeps the port of the request. */
export interface ResolveEntry {
  readonly host: HostPattern;
  readonly address: string;
  readonly port: number | null;
}

/** `host` is an address of this machine, `localhost`, or the subnet (`172.30.0.0/24`) in which it has one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface ListenSettings {
  readonly proxy: readonly ListenAddress[];
  readonly mtls: readonly ListenAddress[];
  /** Addresses or subnets. */
  readonly gateway: readonly string[];
}

export interface DockerSettings {
  readonly socket: string;
  /** Containers that carry our labels are registered when they start. */
  readonly registerLabelled: boolean;
  /** The Docker network on which sandboxes are looked for; null: any that a container has, when it has just one. */
  readonly network: string | null;
}

export interface CompiledPolicy {
  /** The file it came from, or `embedded default`. */
  readonly origin: string;
  readonly listen: ListenSettings;
  readonly docker: DockerSettings;
  /** Rules that cover a host, exact ones first, then wildcards; in order of the document. */
  rulesFor(host: string): readonly AllowRule[];
  readonly allow: readonly AllowRule[];
  readonly credentials: ReadonlyMap<string, CredentialSpec>;
  /** Credentials with a placement that covers the host. */
  credentialsFor(host: string): readonly CredentialSpec[];
  readonly blockedApiPatterns: ReadonlyMap<string, readonly BlockedApiPattern[]>;
  /** Over names of branches in lower case, without `refs/heads/`. */
  readonly protectedBranches: readonly Glob[];
  /** Over paths of files in lower case, without a slash at the front. */
  readonly protectedPaths: readonly Glob[];
  readonly allowForcePush: boolean;
  readonly allowBranchDeletion: boolean;
  /** github.com and the approved GitHub Enterprise hosts. */
  readonly githubHosts: readonly string[];
  /** What may be done on GitHub by sandboxes of each mode. */
  readonly githubEffects: Readonly<Record<AuthMode, ReadonlySet<GithubEffect>>>;
  /** Other hosts that serve git, where pushes are judged too. */
  readonly gitHosts: ReadonlySet<string>;
  /** Whether repositories that are not the sandbox's may be fetched, without a credential. */
  readonly publicFetch: boolean;
  readonly limits: Limits;
  readonly upstream: {
    readonly resolve: readonly ResolveEntry[];
    /** PEM text of extra roots. */
    readonly extraRoots: readonly string[];
    readonly proxy: { readonly host: string; readonly port: number } | null;
  };
  readonly audit: {
    readonly maxFileBytes: number;
    readonly keepFiles: number;
  };
  /** Things the operator should hear at start: keys this version does not serve, presets without hosts. */
  readonly warnings: readonly string[];
}
