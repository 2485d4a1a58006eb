// A guard with two credentials and one known value, requests for it, and writers that say what came out.

import { placeholderFor } from '../../../../../src/kit/text/placeholder.ts';
import type {
  BodyForm,
  BodyWriter,
  Exchange,
  Framing,
  ResponseHead,
} from '../../../../../src/path/exchange/exchange.ts';
import type { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Authorized } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import type { AllowRule, CompiledPolicy, SecretSettings } from '../../../../../src/policy/compiled.ts';
import { OutboundGuard } from '../../../../../src/stages/inject/guard/outbound-guard.ts';
import { KnownSecrets } from '../../../../../src/stages/inject/scrub/known-secrets.ts';
import { anthropic, authorized, type FlowParts, github, host, path, policyOf, spec } from '../authorized-flow.ts';

export const realValue = 'Real-Value/7f3a+9c51_d2"x';
export const githubPlaceholder = placeholderFor('github', 'ghp_');
export const anthropicPlaceholder = placeholderFor('anthropic', 'sk-ant-api03-');

const login = spec('codex', {
  placements: [
    {
      hosts: [host('chat.example')],
      paths: null,
      injection: { kind: 'header', header: 'authorization', prefix: 'Bearer ' },
    },
  ],
  stripHeaders: ['authorization'],
  stripQuery: ['key'],
  login: {
    injection: null,
    listed: [],
    agents: ['codex'],
    opencodeProvider: null,
    tokenEndpoints: [{ host: 'login.example', path: '/oauth/token', answers: 'generic' }],
  },
});
export const codexPlaceholder = placeholderFor('codex');

export interface GuardGround {
  readonly guard: OutboundGuard;
  readonly known: KnownSecrets;
  readonly revoked: string[];
  readonly reports: string[];
}

export function guardWith(settings: Partial<SecretSettings> = {}): GuardGround {
  const policy = policyOf([anthropic, github, login]);
  const rules = [
    rule('allow[0]', 'model.example', true, ['/v1/**']),
    rule('allow[0]', 'model.example', false, ['/telemetry/**']),
    rule('allow[1]', 'open.example', false, null),
  ];
  const whole = {
    ...policy,
    secrets: { ...policy.secrets, ...settings },
    rulesFor: (name: string) => rules.filter((one) => one.host.covers(name)),
  } as CompiledPolicy;
  const known = new KnownSecrets();
  known.note(new Secret('github', realValue));
  const revoked: string[] = [];
  const reports: string[] = [];
  const guard = new OutboundGuard(known, () => whole, {
    revoke: (id) => revoked.push(id),
    report: (what) => reports.push(what),
  });
  return { guard, known, revoked, reports };
}

function rule(name: string, hostName: string, conversation: boolean, paths: readonly string[] | null): AllowRule {
  return {
    name,
    line: null,
    host: host(hostName),
    methods: null,
    paths: paths?.map(path) ?? null,
    ports: [443],
    plainHttp: false,
    tunnel: false,
    conversation,
    ask: false,
  };
}

/** A request to `open.example`, which no credential belongs to. */
export function requestTo(name: string, parts: FlowParts = {}): Authorized {
  return authorized({
    ...parts,
    canonical: { host: name, path: '/', rawPath: '/', ...parts.canonical },
    permission: { rule: name === 'model.example' ? 'allow[0]' : 'allow[1]', ...parts.permission },
  });
}

/** What the guard says to the head; null: nothing. */
export function saidTo({ guard }: GuardGround, flow: Authorized): Refusal | null {
  try {
    guard.checkHead(flow);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

export class CollectingWriter implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly chunks: Buffer[] = [];
  ended: { readonly trailers: HeaderList | null } | null = null;
  failure: Error | null = null;
  accepts = true;
  readonly over: Promise<void>;
  #settle!: () => void;

  constructor() {
    this.over = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  write(chunk: Buffer): boolean {
    this.chunks.push(chunk);
    return this.accepts;
  }

  flush(): void {}

  end(trailers: HeaderList | null): void {
    this.ended = { trailers };
    this.#settle();
  }

  fail(reason: Error): void {
    this.failure = reason;
    this.#settle();
  }
}

/** An exchange that only gives its body, when and how the test says. */
export class HandExchange {
  readonly form: BodyForm;
  readonly requestFraming: Framing;
  body: BodyWriter | null = null;

  constructor(form: BodyForm = 'payload', requestFraming: Framing = { kind: 'chunked' }) {
    this.form = form;
    this.requestFraming = requestFraming;
  }

  get asExchange(): Exchange {
    return this as unknown as Exchange;
  }

  asPayload: () => Exchange = () => this.asExchange;

  sendBody(to: BodyWriter): void {
    this.body = to;
  }

  respond(_head: ResponseHead): BodyWriter {
    return new CollectingWriter();
  }

  goRaw(to: BodyWriter): BodyWriter {
    this.body = to;
    return new CollectingWriter();
  }
}

/** What comes out when the body goes in, in these pieces. */
export async function sendBody(
  { guard }: GuardGround,
  flow: Authorized,
  pieces: readonly Buffer[],
  exchange = new HandExchange(),
  trailers: HeaderList | null = null,
): Promise<CollectingWriter> {
  const out = new CollectingWriter();
  guard.guardBody(flow, exchange.asExchange).sendBody(out);
  for (const piece of pieces) exchange.body!.write(piece);
  exchange.body!.end(trailers);
  await out.over;
  return out;
}

export function codeOf(error: Error | null): string | null {
  return error instanceof Refusal ? error.code : error === null ? null : `not a refusal: ${error.message}`;
}

/** Cut at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length));
}

/** A text as it may be written down elsewhere. */
export const encodings: readonly (readonly [name: string, encode: (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['base64', (text) => Buffer.from(text).toString('base64')],
  ['base64 of a login', (text) => Buffer.from(`x-access-token:${text}`).toString('base64')],
  ['base64 for URLs, two bytes on', (text) => Buffer.from(`ab${text}.`).toString('base64url')],
  ['hexadecimal', (text) => Buffer.from(text).toString('hex')],
  ['percent-encoded', (text) => Buffer.from(text).toString('hex').replace(/../g, '%$&')],
  ['escaped as JSON', (text) => Buffer.from(text).toString('hex').replace(/../g, '\\u00$&')],
];
