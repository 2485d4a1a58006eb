// The compiled form of the policy document: what the stages read. Types only, so that a stage can know the shape
// of the policy without importing how it is made.

import type { RegistryFamily, RegistryPlace } from '../kit/registries/registry-login.ts';
import type { Glob } from '../kit/text/glob.ts';
import type { GithubEffect } from '../path/github-effects.ts';
import type { ProviderEffect } from '../path/provider-effects.ts';
import type { AuthMode, HostPort } from '../path/sandbox.ts';
import type { Budgets, Limits, StoreSettings } from './compiled-limits.ts';

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
  /** Bodies to it are conversations with a model, which hold whatever an agent has read. */
  readonly conversation: boolean;
  /** A person is asked before it passes. */
  readonly ask: boolean;
  /** What it allows of `CompiledPolicy.effectsAt`. Left out: none. */
  readonly effects?: ReadonlySet<ProviderEffect>;
  /** Passes as anybody's would: no credential, whatever is placed there. For a sandbox that learns. */
  readonly bare?: true;
  /** Of an approval: it covers WebSockets alone, or none. Left out: a rule for GET covers them too. */
  readonly websocket?: boolean;
  /** Of an approval: it covers nothing that would carry another credential than this one. Left out: whatever belongs there. */
  readonly carries?: string | null;
}

/** An entry of `allow` with `tcp`: plain connections to named hosts. HTTP knows nothing of it. */
export interface TcpRule {
  readonly name: string;
  readonly line: number | null;
  readonly host: HostPattern;
  readonly ports: readonly number[];
}

/** Paths of a provider that have one effect. */
export interface EffectPaths {
  readonly preset: string;
  readonly effect: ProviderEffect;
  readonly hosts: readonly HostPattern[];
  /** As they are written, and what is below each. */
  readonly paths: readonly PathPattern[];
  /** The same over paths in lower case. */
  readonly folded: readonly PathPattern[];
  /** GET and HEAD only read there, which is not the effect. */
  readonly readable: boolean;
  /** Where it is known from. */
  readonly from: string;
}

export type Injection =
  | { readonly kind: 'header'; readonly header: string; readonly prefix: string }
  | { readonly kind: 'basic'; readonly username: string }
  | { readonly kind: 'query'; readonly parameter: string }
  /** The request is signed anew (AWS Signature Version 4); the credential is a pair of keys. */
  | { readonly kind: 'sigv4' }
  /** In place of its placeholder in the path; in `pattern`, `{credential}` says where that may be. Null: in any segment. */
  | { readonly kind: 'path'; readonly pattern: string | null }
  /** In a member of a JSON body; `shown`: the pointer as it was written. */
  | { readonly kind: 'json'; readonly pointer: readonly string[]; readonly shown: string }
  /** In a field of a form. */
  | { readonly kind: 'form'; readonly field: string }
  /** The body is signed with it. */
  | { readonly kind: 'hmac'; readonly hmac: HmacSignature }
  /** In no request: it is the key of the client certificate. */
  | { readonly kind: 'certificate' };

/** How a body is signed. What the formats of services prescribe is filled in. */
export interface HmacSignature {
  readonly format: 'slack' | 'stripe' | 'hex' | 'base64';
  readonly algorithm: 'sha1' | 'sha256' | 'sha512';
  readonly header: string;
  /** What stands before the signature (`sha256=`). */
  readonly prefix: string;
}

/** A source of one value. */
export type PlainSource =
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'command';
      readonly argv: readonly string[];
      readonly ttlSeconds: number;
      /** Variables of the gateway that the command gets beside the usual ones. */
      readonly passEnv?: readonly string[];
    }
  | { readonly kind: 'environment'; readonly variable: string }
  /** Waits for `sallyport secret set NAME`. */
  | { readonly kind: 'memory' }
  /** A file encrypted with age, for this identity (the text of an identity file) or passphrase. */
  | {
      readonly kind: 'age';
      readonly path: string;
      readonly identity: PlainSource | null;
      readonly passphrase: PlainSource | null;
    }
  /** The keyring of the desktop: libsecret on Linux. */
  | { readonly kind: 'keyring'; readonly attributes: readonly (readonly [name: string, value: string])[] };

/** A login for a registry in a file of the user's own. */
export interface RegistrySpec {
  readonly kind: 'registry';
  readonly family: RegistryFamily;
  readonly home: string;
  /** Below the home. */
  readonly file: string;
  readonly place: RegistryPlace;
}

export type SourceSpec =
  | RegistrySpec
  | PlainSource
  | GithubAppSpec
  | LoginSpec
  | OAuthSpec
  | ServiceAccountSpec
  | AwsProfileSpec;

export type LoginAgent = 'claude' | 'codex' | 'gemini' | 'opencode';

/** The login that an agent of the user keeps in its own file; refreshed here, and saved back there. */
export interface LoginSpec {
  readonly kind: 'login';
  readonly agent: LoginAgent;
  /** Absolute; null: where the agent keeps it in the home of the gateway's user. */
  readonly path: string | null;
  /** Of opencode: the entry of the file. */
  readonly provider: string | null;
}

/** A token endpoint that the operator has described. */
export interface OAuthSpec {
  readonly kind: 'oauth';
  readonly grant: 'refresh_token' | 'client_credentials';
  readonly tokenUrl: { readonly host: string; readonly port: number; readonly target: string };
  readonly clientId: string | null;
  readonly clientSecret: PlainSource | null;
  /** How the client proves itself: in the Authorization field, or in the body. */
  readonly clientAuth: 'basic' | 'post' | 'none';
  /** Of grant refresh_token. A rotated one is written back when it is a file; else it lives as long as the gateway. */
  readonly refreshToken: PlainSource | null;
  readonly scope: string | null;
  /** More members of the body, e.g. audience. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly body: 'form' | 'json';
}

/** A key file of a Google service account. */
export interface ServiceAccountSpec {
  readonly kind: 'google-service-account';
  readonly key: PlainSource;
  readonly scopes: readonly string[];
  /** Whom to act as (domain-wide delegation); null: the account itself. */
  readonly subject: string | null;
}

/** A profile of ~/.aws/credentials. */
export interface AwsProfileSpec {
  readonly kind: 'aws-profile';
  /** Absolute; null: in the home of the gateway's user. */
  readonly path: string | null;
  readonly profile: string;
}

/** Names of GitHub's permissions and how far each goes: read, write or admin. */
export type AppPermissions = Readonly<Record<string, string>>;

/** A GitHub App: its tokens are minted for each sandbox. */
export interface GithubAppSpec {
  readonly kind: 'github-app';
  /** App id or client id. */
  readonly appId: string;
  readonly privateKey: PlainSource;
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

/** What is different about a credential that is a login in place of a key. */
export interface LoginUse {
  /** In place of the injection of each placement; null: the same. */
  readonly injection: Injection | null;
  /** Members that a list field must have, e.g. `anthropic-beta: oauth-2025-04-20`; added where they are missing. */
  readonly listed: readonly (readonly [name: string, member: string])[];
  /** Whose login it can be, and the name of opencode's entry for it. */
  readonly agents: readonly LoginAgent[];
  readonly opencodeProvider: string | null;
  /** Where its clients get new tokens: answered by the gateway with placeholders, never forwarded. */
  readonly tokenEndpoints: readonly TokenEndpoint[];
}

export interface TokenEndpoint {
  readonly host: string;
  readonly path: string;
  readonly answers: TokenAnswer;
}

export interface FoundEndpoint {
  readonly spec: CredentialSpec;
  readonly endpoint: TokenEndpoint;
}

/** Where logins get their tokens: one lookup for the door, `check` and the search for misplaced placeholders. */
export interface TokenEndpoints {
  /** Those of every login on this host, whether or not its preset is in use. */
  on(host: string): readonly FoundEndpoint[];
  /** Where a request for this path is answered; undefined: it is not answered here. */
  at(host: string, path: string): FoundEndpoint | undefined;
  /**
   * The endpoint that this path stands beside: another spelling of it (`/oauth/token.json`), what is below it, and all of
   * `/oauth/**` where it lies in such a folder. The far side would make, show or end a login there.
   */
  beside(host: string, path: string): FoundEndpoint | undefined;
}

/** Whose client reads the answer, and which of its questions it is. */
export type TokenAnswer = 'claude' | 'chatgpt' | 'chatgpt-accounts' | 'google' | 'google-tokeninfo' | 'generic';

export interface ClientCertificate {
  /** The certificate and those between it and its CA, PEM. Absolute. */
  readonly path: string;
  /** The credential whose value is its private key: this one, or one beside it. */
  readonly keyOf: string;
}

/** Where a sandbox finds the placeholder of a credential, as the operator wrote it. */
export interface PlaceholderSpec {
  readonly variables: readonly string[];
  /** `path` is below the home, without a slash at the front. */
  readonly file: { readonly path: string; readonly text: string } | null;
  /** What clients look for before they send anything; null: what is usual for the credential. */
  readonly prefix: string | null;
}

export interface CredentialSpec {
  readonly name: string;
  readonly line: number | null;
  readonly placements: readonly Placement[];
  /** What the gateway shows to the hosts of this credential, and only for requests that it goes with. */
  readonly clientCertificate?: ClientCertificate;
  /** Left out: what its preset brings, which for a credential of one's own is none. */
  readonly placeholder?: PlaceholderSpec;
  /** Lower-case header names and query parameters in which this provider's clients send auth: always removed. */
  readonly stripHeaders: readonly string[];
  readonly stripQuery: readonly string[];
  /** Fields set only when the client did not send them (anthropic-version). */
  readonly companionDefaults: readonly (readonly [name: string, value: string])[];
  /** Fields always set, from configuration (OpenAI-Organization). */
  readonly companionForced: readonly (readonly [name: string, value: string])[];
  /** The upstream is useful without a credential: forward without one when none is set. */
  readonly anonymous: boolean;
  /** null: it is never a login. */
  readonly login: LoginUse | null;
  readonly source: SourceSpec;
}

/** What is done to keep credentials, real and placeholder, where they belong. */
export interface SecretSettings {
  /** Whether answers are searched for credentials. */
  readonly scrub: boolean;
  /** What happens to a sandbox that sends a placeholder or a real value where it does not belong. */
  readonly misplaced: 'refuse' | 'revoke';
  /** Whether a placeholder may stand in a body that goes to a model's host: an agent says what it has read. */
  readonly conversations: 'record' | 'refuse';
  /** How much of a request body is searched. */
  readonly searchedBodyBytes: number;
  /** How large a body may be that a credential goes into, or that is signed with one. */
  readonly injectedBodyBytes: number;
}

/** The operator's own HTTP proxy, which is the way out. */
export interface UpstreamProxy {
  readonly host: string;
  readonly port: number;
  /** It is told names and resolves them itself: nothing here judges where they lead. */
  readonly byName: boolean;
  /** Hosts that are reached without it. */
  readonly except: readonly HostPattern[];
  /** Null: it asks for none. */
  readonly login: ProxyLogin | null;
}

export type ProxyLogin =
  | { readonly kind: 'own'; readonly username: string; readonly password: PlainSource }
  /** In the address that this variable of the gateway holds. */
  | { readonly kind: 'variable'; readonly variable: string };

export interface BlockedApiPattern {
  /** e.g. `policy.blocked_api_patterns.DELETE[0]` */
  readonly rule: string;
  readonly text: string;
  matches(path: string): boolean;
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
  /** The dashboard, on loopback; null: none. */
  readonly dashboard: ListenAddress | null;
  /** Processes that serve the doors; 1: the gateway's own. */
  readonly workers: number;
}

export interface DockerSettings {
  readonly socket: string;
  /** Containers that carry our labels are registered when they start. */
  readonly registerLabelled: boolean;
  /** The Docker network on which sandboxes are looked for; null: any that a container has, when it has just one. */
  readonly network: string | null;
}

export interface ApprovalSettings {
  /** A question that nobody has answered by then is a no. */
  readonly answerWithinMs: number;
  /** How many requests may wait at once. */
  readonly held: number;
  readonly heldPerSandbox: number;
}

export interface CompiledPolicy {
  /** The file it came from, or `embedded default`. */
  readonly origin: string;
  readonly listen: ListenSettings;
  readonly docker: DockerSettings;
  /** Rules that cover a host, exact ones first, then wildcards; in order of the document. */
  rulesFor(host: string): readonly AllowRule[];
  readonly allow: readonly AllowRule[];
  readonly tcp: readonly TcpRule[];
  /** Those of `tcp` that cover a host, exact ones first. */
  tcpFor(host: string): readonly TcpRule[];
  /** What every sandbox of `run` gets beside what it was started with. */
  readonly run: { readonly hostPorts: readonly HostPort[] };
  /** Those of every preset, in use or not. */
  effectsAt(host: string): readonly EffectPaths[];
  readonly credentials: ReadonlyMap<string, CredentialSpec>;
  /** Configuration of package managers for sandboxes, with placeholders, each for those who may use one of its credentials. */
  readonly registryFiles?: readonly {
    readonly path: string;
    readonly text: string;
    readonly credentials: readonly string[];
  }[];
  /** Credentials with a placement that covers the host. */
  credentialsFor(host: string): readonly CredentialSpec[];
  readonly tokenEndpoints: TokenEndpoints;
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
  /** Those of them that a person is asked about. */
  readonly githubAsks: Readonly<Record<AuthMode, ReadonlySet<GithubEffect>>>;
  /** Other hosts that serve git, where pushes are judged too. */
  readonly gitHosts: ReadonlySet<string>;
  /** Whether repositories that are not the sandbox's may be fetched, without a credential. */
  readonly publicFetch: boolean;
  /** What a sandbox with a door of its own is told of a name that is not allowed: an address where it is refused in words, or nothing. */
  readonly dns: { readonly unknown: 'answer' | 'nxdomain' };
  readonly limits: Limits;
  readonly approvals: ApprovalSettings;
  readonly budgets: Budgets;
  /** Where gateways share what they know; null: this one keeps everything itself. */
  readonly store: StoreSettings | null;
  readonly secrets: SecretSettings;
  readonly upstream: {
    readonly resolve: readonly ResolveEntry[];
    /** PEM text of extra roots. */
    readonly extraRoots: readonly string[];
    readonly proxy: UpstreamProxy | null;
    /** The proxy is the one that variables of the gateway name, or none while none does. */
    readonly followsVariables?: boolean;
  };
  readonly audit: {
    readonly maxFileBytes: number;
    readonly keepFiles: number;
    /** No file goes that was written to so lately. */
    readonly keepMs: number;
    readonly maxBytes: number;
    /** What one sandbox may write in a day; 0: as much as it likes. */
    readonly sandboxBytesPerDay: number;
  };
  /** Things the operator should hear at start: keys this version does not serve, presets without hosts. */
  readonly warnings: readonly string[];
}
