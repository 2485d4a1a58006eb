// Hand-made flows, policies and credentials for the tests of injection.

import type { Exchange } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Authorized, CanonicalRequest, Injected, Permission } from '../../../../src/path/flow.ts';
import { Secret } from '../../../../src/path/secret.ts';
import { accepted } from '../../../../src/path/stamps/accepted.ts';
import { granted } from '../../../../src/path/stamps/granted.ts';
import { proven } from '../../../../src/path/stamps/proven.ts';
import { Trail } from '../../../../src/path/trail.ts';
import { tokenEndpointsOf } from '../../../../src/policy/compile.ts';
import type { CompiledPolicy, CredentialSpec, HostPattern, PathPattern } from '../../../../src/policy/compiled.ts';
import { InjectStage, type Secrets } from '../../../../src/stages/inject/inject-stage.ts';

export function host(text: string): HostPattern {
  return { text, covers: (name) => (text.startsWith('*.') ? name.endsWith(text.slice(1)) : name === text) };
}

/** Only the two forms that these tests need: a prefix with `/**`, or the path itself. */
export function path(text: string): PathPattern {
  return { text, covers: (p) => (text.endsWith('/**') ? p.startsWith(text.slice(0, -2)) : p === text) };
}

export function spec(name: string, parts: Partial<CredentialSpec>): CredentialSpec {
  return {
    name,
    line: null,
    placements: [],
    stripHeaders: [],
    stripQuery: [],
    companionDefaults: [],
    companionForced: [],
    anonymous: false,
    login: null,
    source: { kind: 'memory' },
    ...parts,
  };
}

export const anthropic = spec('anthropic', {
  placements: [
    {
      hosts: [host('api.anthropic.com')],
      paths: [path('/v1/**')],
      injection: { kind: 'header', header: 'x-api-key', prefix: '' },
    },
  ],
  stripHeaders: ['x-api-key', 'authorization', 'cookie'],
  companionDefaults: [['anthropic-version', '2023-06-01']],
});

export const openai = spec('openai', {
  placements: [
    {
      hosts: [host('api.openai.com')],
      paths: [path('/v1/**')],
      injection: { kind: 'header', header: 'Authorization', prefix: 'Bearer ' },
    },
  ],
  stripHeaders: ['authorization', 'api-key'],
  companionForced: [['OpenAI-Organization', 'org-real']],
});

export const google = spec('google', {
  placements: [
    {
      hosts: [host('generativelanguage.googleapis.com')],
      paths: null,
      injection: { kind: 'header', header: 'x-goog-api-key', prefix: '' },
    },
  ],
  stripHeaders: ['authorization', 'x-goog-api-key'],
  stripQuery: ['key', 'access_token'],
});

export const maps = spec('maps', {
  placements: [{ hosts: [host('maps.example')], paths: null, injection: { kind: 'query', parameter: 'key' } }],
  stripHeaders: ['authorization'],
});

export const github = spec('github', {
  placements: [
    {
      hosts: [host('api.github.com')],
      paths: null,
      injection: { kind: 'header', header: 'authorization', prefix: 'Bearer ' },
    },
    { hosts: [host('github.com')], paths: null, injection: { kind: 'basic', username: 'x-access-token' } },
  ],
  stripHeaders: ['authorization', 'cookie'],
  stripQuery: ['access_token'],
  anonymous: true,
});

export const everySpec = [anthropic, openai, google, maps, github];

/** Only the parts of a policy that injection reads. */
export function policyOf(specs: readonly CredentialSpec[]): CompiledPolicy {
  const credentials = new Map(specs.map((one) => [one.name, one]));
  const credentialsFor = (name: string) =>
    specs.filter((one) => one.placements.some((p) => p.hosts.some((pattern) => pattern.covers(name))));
  const secrets = {
    scrub: true,
    misplaced: 'refuse',
    conversations: 'record',
    searchedBodyBytes: 1024 * 1024,
    injectedBodyBytes: 1024 * 1024,
  };
  const tokenEndpoints = tokenEndpointsOf(credentials.values());
  return { credentials, credentialsFor, tokenEndpoints, secrets } as unknown as CompiledPolicy;
}

export interface FlowParts {
  readonly headers?: readonly (readonly [string, string])[];
  readonly canonical?: Partial<CanonicalRequest>;
  readonly permission?: Partial<Permission>;
  readonly protocol?: 'http/1.1' | 'h2';
  readonly credentials?: readonly string[] | null;
}

export function authorized(parts: FlowParts): Authorized {
  const canonical: CanonicalRequest = {
    scheme: 'https',
    host: 'api.anthropic.com',
    port: 443,
    method: 'POST',
    path: '/v1/messages',
    rawPath: '/v1/messages',
    query: null,
    kind: 'http',
    ...parts.canonical,
  };
  return {
    requestId: 'r1',
    arrivedAt: 0,
    caller: { door: 'test', address: '127.0.0.1', socketOf: null, proxyAuthorization: null },
    request: {
      protocol: parts.protocol ?? 'http/1.1',
      scheme: canonical.scheme,
      method: canonical.method,
      target: canonical.rawPath,
      authority: null,
      headers: HeaderList.from(parts.headers ?? []),
      connect: null,
      sni: canonical.host,
      kind: 'http',
      hiddenName: false,
      destination: null,
      fault: null,
    },
    exchange: {} as Exchange,
    trail: new Trail(0),
    canonical: accepted(canonical),
    sandbox: proven({
      id: 'sbx',
      containerIp: '127.0.0.1',
      containerId: null,
      repos: [],
      authMode: 'bot',
      allowedBranches: [],
      credentials: parts.credentials ?? null,
      proof: ['ip'],
      createdAt: '2027-01-01T00:00:00Z',
    }),
    permission: granted({
      rule: 'allow[0]',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
      ...parts.permission,
    }),
  };
}

/** Every credential has the value that `valueFor` gives its name. */
export function secretsOf(valueFor: (name: string) => string | null): Secrets {
  const made = new Map<string, Secret | null>();
  return {
    resolve(name) {
      if (!made.has(name)) {
        const value = valueFor(name);
        made.set(name, value === null ? null : new Secret(name, value));
      }
      return made.get(name) ?? null;
    },
  };
}

export function stageWith(specs: readonly CredentialSpec[], valueFor: (name: string) => string | null): InjectStage {
  const policy = policyOf(specs);
  return new InjectStage(() => policy, secretsOf(valueFor));
}

/** Runs a stage that is expected to have everything at hand. */
export function injectNow(stage: InjectStage, parts: FlowParts): Injected {
  const out = stage.run(authorized(parts));
  if (out instanceof Promise) throw new Error('the stage did not stay synchronous');
  return out;
}

/** The head as it would stand on the wire. */
export function wire(injected: Injected): string {
  const { target, headers } = injected.outgoing;
  return [target, ...headers.names.map((name, i) => `${name}: ${headers.values[i]}`)].join('\n');
}
