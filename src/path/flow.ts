// The nouns of the path. A flow is one request; each stage learns one thing about it and hands on a richer flow:
// Arrived -> Accepted -> Identified -> Authorized -> Injected -> Forwarded. The types make the order a fact.
import type { AnswerMeter, Used } from './exchange/answer-meter.ts';
import type { ClientIdentity } from './exchange/client-identity.ts';
import type { HeaderList } from './exchange/header-list.ts';
import type { OutgoingRequest } from './exchange/outgoing-request.ts';
import type { Wrappable } from './exchange/wrappers.ts';
import type { GithubEffect } from './github-effects.ts';
import type { Refusal } from './refusal.ts';
import type { Sandbox } from './sandbox.ts';
import type { Trail } from './trail.ts';

declare const statedBy: unique symbol;

/** A fact that only one stage can state, with its stamp (stamps/): a literal of the same shape does not pass for it. */
export type Stated<Fact, By extends string> = Fact & { readonly [statedBy]: By };

/** What a client connection can show for itself. One object per connection (per request where proofs are). */
export interface Caller {
  /** The door it came through, e.g. `proxy 127.0.0.1:8080`. */
  readonly door: string;
  /** Source address; null on a Unix socket. */
  readonly address: string | null;
  /** The sandbox whose private socket or namespace door this is. */
  readonly socketOf: string | null;
  /** The Proxy-Authorization it sent. Never logged. */
  readonly proxyAuthorization: string | null;
  /** What a client certificate says that the identity CA signed and that is in force; absent: none was shown. */
  readonly certificate?: ShownCertificate;
}

/** The sandbox a client certificate was made for, and the one registration of it that it is good for. */
export interface ShownCertificate {
  readonly sandboxId: string;
  readonly binding: string;
}

/** A request as it was read, before anything about it is believed. */
export interface RawRequest {
  readonly protocol: 'http/1.1' | 'h2';
  readonly scheme: 'https' | 'http';
  readonly method: string;
  /** Request target as on the wire: origin-form, absolute-form, or authority-form for CONNECT. */
  readonly target: string;
  /** HTTP/2 :authority; null on HTTP/1.1. */
  readonly authority: string | null;
  readonly headers: HeaderList;
  /** The authority of the CONNECT this request came through; null outside a tunnel. */
  readonly connect: string | null;
  /** The name in the ClientHello; null when there was none or no TLS. */
  readonly sni: string | null;
  /**
   * `connect`: asks for a tunnel. `tunnel`: an undecrypted tunnel itself. `tcp`: a plain connection to a named host.
   * `host-port`: one to a port of the host's own loopback. `lookup`: a DNS question. `http`: everything else.
   */
  readonly kind: 'http' | 'connect' | 'tunnel' | 'tcp' | 'host-port' | 'lookup';
  /** ClientHello carried an encrypted inner name (ECH). Only read for tunnels. */
  readonly hiddenName: boolean;
  /** Where a transparent connection wanted to go, `address:port`; null on a door that is spoken to as a proxy. */
  readonly destination: string | null;
  /**
   * Set by a door that answers every name with its own address: the destination must be it. Absent: it must be the address
   * that was computed for the name.
   */
  readonly doorAddress?: string;
  /** Why it could not be read at all; the accept stage refuses with it. */
  readonly fault: Refusal | null;
}

/** The exchange with the client, and what was put around it: exchange/wrappers.ts. */
export interface Arrived extends Wrappable {
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  readonly caller: Caller;
  readonly request: RawRequest;
  readonly trail: Trail;
  /** What git asks for, in words for the journal: operation, repository, refs. */
  readonly asked?: string;
  /** What of a credential it carries where that does not belong, in words for the journal. */
  readonly incident?: string;
  /** Told what the answer of a model cost; absent: it goes to no model. */
  readonly meter?: AnswerMeter;
  /** What it cost so far. */
  readonly used?: Used;
}

/** The one reading of a request that every decision uses. */
export interface CanonicalRequest {
  readonly scheme: 'https' | 'http';
  /** Lower case, IDNA, never an address literal, no trailing dot. */
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** Decoded once; begins with `/`; no dot segments, no empty segments but a trailing one. */
  readonly path: string;
  /** The path as it came (percent-encoding kept), which is what is forwarded. */
  readonly rawPath: string;
  /** Raw query without `?`; null when there was none. */
  readonly query: string | null;
  readonly kind: 'http' | 'websocket' | 'connect' | 'tunnel' | 'tcp' | 'host-port' | 'lookup';
}

export interface Accepted extends Arrived {
  readonly canonical: Stated<CanonicalRequest, 'accept'>;
}

export interface Identified extends Accepted {
  readonly sandbox: Stated<Sandbox, 'identify'>;
}

/** A decision is a value: the same for the path, `sallyport check` and the admin API. */
export interface Permission {
  /** The rule that allowed it, e.g. `allow[0] (preset anthropic)`. */
  readonly rule: string;
  /** Forward the bytes undecrypted. */
  readonly tunnel: boolean;
  /** It is a plain connection: its bytes are passed on unread, with no handshake to look at. */
  readonly tcp?: true;
  /** The credential that belongs to this host and path for this sandbox; null: none. */
  readonly credential: string | null;
  /** What it asks of a repository, when it is git that asks; null: it is not. */
  readonly git: GitRequest | null;
  /** What it would do on GitHub, when it is a call of GitHub's API; null: it is not. */
  readonly github: GithubRequest | null;
  /** The repository it is about, canonical `owner/name`; null: none, or not known from its address. */
  readonly repository: string | null;
  /** A person is asked first: the rule that says so. Absent: nobody is. */
  readonly askedBy?: string;
  /** The door answers it itself: nothing is forwarded. */
  readonly inside?: true;
}

/** A call of GitHub's API, read from its method and path. What its body says is judged after this. */
export interface GithubRequest {
  readonly effect: GithubEffect;
  /** The template of the operation, e.g. `/repos/{owner}/{repo}/contents/{path}`; `graphql`. */
  readonly operation: string;
  readonly params: ReadonlyMap<string, string>;
  /** By number, in place of a name: not known to be the sandbox's until it was looked up. */
  readonly repositoryId: string | null;
}

/** A request of git or git-lfs, read from its method, path and query. What its body carries is judged after this. */
export interface GitRequest {
  /** Canonical `owner/name`. */
  readonly repository: string;
  /** The path before the service as it came, e.g. `/Owner/Name.git`: what the gateway's own questions are asked under. */
  readonly rawRepositoryPath: string;
  readonly operation: GitOperation;
  /** Of an `lfs-object`: what stands for the storage's own URL. */
  readonly ticket: string | null;
}

export type GitOperation =
  | 'advertise-upload'
  | 'advertise-receive'
  | 'upload-pack'
  | 'receive-pack'
  | 'lfs-batch'
  | 'lfs-locks'
  | 'lfs-lock'
  | 'lfs-unlock'
  | 'lfs-verify-locks'
  /** A URL that this door handed out in place of one of the storage. */
  | 'lfs-object';

export interface Authorized extends Identified {
  readonly permission: Stated<Permission, 'authorize'>;
  /** The fields that go on in place of those that came, where what was judged says so (git, GitHub); absent: those that came. */
  readonly judgedFields?: HeaderList;
}

export interface Injected extends Authorized {
  readonly outgoing: OutgoingRequest;
  /** Name of the credential that was really put in; null: none. */
  readonly injected: string | null;
  /** Whom the gateway is for the upstream of this request; absent: nobody. */
  readonly identity?: ClientIdentity;
  /** The same with another credential, after a 401: what was sent last. Absent: there was one try. */
  readonly renewed?: OutgoingRequest;
}

export interface Forwarded extends Injected {
  readonly status: number;
  /** The address that was dialled. */
  readonly upstreamAddress: string | null;
}
