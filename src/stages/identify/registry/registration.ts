// The JSON of `POST /internal/containers` becomes a registration, or every error in it at once. Unknown keys are
// errors: a misspelt `proof` must not become a sandbox that proves nothing. Never looks at the registry itself.
import * as z from 'zod';
import { canonicalAddress, isCallable } from '../../../kit/canonical-address.ts';
import { parseHostPort } from '../../../kit/text/host-port.ts';
import { canonicalRepositoryPattern } from '../../../kit/text/repository-name.ts';
import type { AuthMode, HostPort, ProofKind } from '../../../path/sandbox.ts';
import { RegistrationError } from './registration-error.ts';
import type { WitnessedContainer } from './sandbox-record.ts';

export interface RegistrationRequest {
  /** Null: one is made up. */
  readonly id: string | null;
  readonly containerIp: string | null;
  /** Id, beginning of an id or name, as it was given; the full id once Docker was asked. */
  readonly containerId: string | null;
  /** The Docker network it calls from; null: not said. */
  readonly network: string | null;
  /** What Docker said of the container; null: there is none, or nobody has asked yet. */
  readonly container: WitnessedContainer | null;
  readonly repos: readonly string[];
  readonly authMode: AuthMode;
  readonly allowedBranches: readonly string[];
  readonly credentials: readonly string[] | null;
  readonly proof: readonly ProofKind[];
  /** No proof was listed: what the sandbox is decides. */
  readonly proofIsDefault: boolean;
  /** Null: 24 hours, renewed by traffic. */
  readonly expiresAtMs: number | null;
  /** A process in the network namespace in which the door of this sandbox is to be opened; null: it has none. */
  readonly namespacePid: number | null;
  /** Ports of the host's loopback that it finds on its own. */
  readonly hostPorts: readonly HostPort[];
}

/** A Map or a Set of credential names. */
export interface KnownNames {
  has(name: string): boolean;
  keys(): Iterable<string>;
}

export interface RegistrationContext {
  readonly knownCredentials: KnownNames;
  readonly nowMs: number;
}

const idPattern = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
// Of containers and of networks, as Docker takes them.
const dockerNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
// Characters git refuses in a branch name (git-check-ref-format), but for `*`, which is ours.
const notInABranch = /[\s\p{Cc}~^:?[\\]|\.\.|@\{|\/\/|^[-/]|\/$|\.lock$/u;

const id = z
  .string()
  .regex(idPattern, 'must be 1 to 63 of a-z 0-9 _ . - and begin with a letter or digit')
  .refine(
    (text) => canonicalAddress(text) === null,
    'must not look like an address: addresses and ids share one place in the API',
  )
  .refine(
    (text) => text !== 'sandbox',
    '"sandbox" is the user name of a client that does not know its id: choose another',
  );

const containerIp = z.string().transform((text, context) => {
  const canonical = canonicalAddress(text);
  if (canonical !== null && isCallable(canonical)) return canonical;
  const why = canonical === null ? 'is not an IPv4 or IPv6 address' : 'is an address no sandbox can call from';
  context.addIssue({ code: 'custom', message: `${JSON.stringify(text)} ${why}; write it like 172.18.0.5 or fd00::5` });
  return z.NEVER;
});

const repo = z.string().transform((text, context) => {
  const canonical = canonicalRepositoryPattern(text);
  if (canonical !== null) return canonical;
  context.addIssue({
    code: 'custom',
    message: `${JSON.stringify(text)} is not a repository; write owner/repo, or owner/* for all of an owner`,
  });
  return z.NEVER;
});

const branch = z
  .string()
  .min(1, 'must not be empty')
  .max(250)
  .refine(
    (text) => !notInABranch.test(text) && (!text.startsWith('refs/') || text.startsWith('refs/tags/')),
    'is not a branch pattern; write it like sandbox/* (the name alone, without refs/heads/), or refs/tags/* for tags',
  );

const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a date and time with a zone, like 2027-01-15T00:00:00Z' })
  .transform((text) => Date.parse(text));

const proofKind = z.enum(['ip', 'secret', 'mtls', 'socket'], { error: 'must be ip, secret, mtls or socket' });

const hostPort = z.union([z.string(), z.int()]).transform((given, context) => {
  const read = parseHostPort(String(given));
  if ('value' in read) return read.value;
  context.addIssue({ code: 'custom', message: `${JSON.stringify(given)}: ${read.problem}` });
  return z.NEVER;
});

const shape = z.strictObject({
  id: id.optional(),
  container_ip: containerIp.nullish(),
  container_id: z.string().regex(dockerNamePattern, 'must be the id or the name of a container').nullish(),
  network: z.string().regex(dockerNamePattern, 'must be the name of a Docker network').nullish(),
  repos: z.array(repo).max(1000).default([]),
  auth_mode: z.enum(['bot', 'user'], { error: 'must be bot or user' }).default('bot'),
  allowed_branches: z.array(branch).max(1000).default(['sandbox/*']),
  credentials: z.array(z.string()).max(1000).nullish(),
  proof: z.array(proofKind).min(1, 'must list at least one of ip, secret, mtls and socket').optional(),
  expires_at: expiresAt.nullish(),
  namespace: z
    .strictObject({ pid: z.int('must be the number of a process').min(2, 'must be a process of the sandbox') })
    .nullish(),
  host_ports: z.array(hostPort).max(64, 'are 64 at most').default([]),
});

/** Throws a RegistrationError that names everything that is wrong. */
export function readRegistration(input: unknown, context: RegistrationContext): RegistrationRequest {
  const parsed = shape.safeParse(input);
  const problems = parsed.success ? [] : parsed.error.issues.map(sentence);
  problems.push(...crossChecks(input, context));
  if (problems.length > 0 || !parsed.success) throw invalid(problems);

  const given = parsed.data;
  const ip = given.container_ip ?? null;
  // A container's address is Docker's to say.
  const hasAddress = ip !== null || (given.container_id ?? null) !== null;
  return {
    id: given.id ?? null,
    containerIp: ip,
    containerId: given.container_id ?? null,
    network: given.network ?? null,
    container: null,
    repos: unique(given.repos),
    authMode: given.auth_mode,
    allowedBranches: unique(given.allowed_branches),
    credentials: given.credentials ? unique(given.credentials) : null,
    proof: given.proof ? unique(given.proof) : [given.namespace ? 'socket' : hasAddress ? 'ip' : 'secret'],
    proofIsDefault: given.proof === undefined,
    expiresAtMs: given.expires_at ?? null,
    namespacePid: given.namespace?.pid ?? null,
    hostPorts: given.host_ports,
  };
}

/** Checks that need more than one field, or facts from outside. They read the raw input, so that all errors come at once. */
function crossChecks(input: unknown, { knownCredentials, nowMs }: RegistrationContext): string[] {
  if (typeof input !== 'object' || input === null) return [];
  const { container_ip: ip, container_id: container, network, ...rest } = input as Record<string, unknown>;
  const { proof, credentials, expires_at: expires, namespace, host_ports: hostPorts } = rest;
  const problems: string[] = [];
  if (network != null && container == null) problems.push('network: needs container_id, the container that is on it');
  if (Array.isArray(hostPorts) && hostPorts.length > 0) {
    if (namespace == null) problems.push('host_ports: need a namespace, where the sandbox has a loopback of its own');
    const inside = hostPorts.map((one) => String(one).split(':').at(-1));
    if (new Set(inside).size < inside.length) problems.push('host_ports: two of them have the same port inside');
  }
  if (Array.isArray(proof)) {
    if (proof.includes('ip') && ip == null && container == null) {
      problems.push('proof: ip needs container_ip, the address the sandbox calls from, or container_id');
    }
    // Who is behind a namespace door is known by the door alone: an address or a secret could only contradict it.
    if (namespace != null && proof.join() !== 'socket') problems.push('proof: with a namespace it is ["socket"]');
  }
  if (Array.isArray(credentials)) {
    for (const name of credentials) {
      if (typeof name !== 'string' || knownCredentials.has(name)) continue;
      const known = [...knownCredentials.keys()].join(', ') || 'none';
      problems.push(`credentials: ${JSON.stringify(name)} is not configured (configured: ${known})`);
    }
  }
  if (typeof expires === 'string' && Date.parse(expires) <= nowMs) {
    problems.push(`expires_at: ${expires} is in the past`);
  }
  return problems;
}

function sentence(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${keys} ${issue.keys.length > 1 ? 'are not keys' : 'is not a key'} of a registration (keys: ${Object.keys(shape.shape).join(', ')})`;
  }
  const [field, index] = issue.path;
  if (field === undefined) return 'the registration must be a JSON object';
  return `${String(field)}${index === undefined ? '' : `[${String(index)}]`}: ${issue.message}`;
}

function invalid(problems: readonly string[]): RegistrationError {
  const count = problems.length;
  const message = count === 1 ? problems[0]! : `the registration has ${count} errors: ${problems.join('; ')}`;
  return new RegistrationError('sandbox.invalid', message, {
    problems,
    hint: 'Nothing was registered. Correct the fields and send it again.',
  });
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
