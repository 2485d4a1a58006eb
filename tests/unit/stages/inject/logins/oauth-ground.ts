// What tests of renewed tokens stand on: a clock of their own, a token endpoint that rotates refresh tokens and takes each
// of them once, a home with the files of agents, and a list of what was told and noted.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reveal, type Secret } from '../../../../../src/path/secret.ts';
import type { LoginAgent } from '../../../../../src/policy/compiled.ts';
import type { TokenCall } from '../../../../../src/stages/inject/logins/oauth-call.ts';
import { type OAuthDeps, openKnownLogin } from '../../../../../src/stages/inject/logins/oauth-open.ts';
import type { OAuthSource } from '../../../../../src/stages/inject/logins/oauth-source.ts';

export interface AskedRequest {
  readonly host: string;
  readonly target: string;
  readonly contentType: string;
  readonly authorization: string | null;
  readonly origin: unknown;
  readonly members: Record<string, string>;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly body: string | object;
}

export class OAuthGround {
  readonly home = mkdtempSync(join(tmpdir(), 'sallyport-login-'));
  nowMs = Date.parse('2026-11-16T12:00:00Z');
  /** The refresh token that the endpoint takes; null: any. */
  good: string | null = null;
  /** Rotates the refresh token with every exchange. */
  rotates = true;
  lifeSeconds: number | null = 3600;
  extra: object = {};
  /** In place of what the endpoint would answer. */
  answer: ((asked: AskedRequest) => EndpointAnswer | Promise<EndpointAnswer | null> | null) | null = null;
  readonly asked: AskedRequest[] = [];
  readonly reports: { readonly what: string; readonly detail: Readonly<Record<string, unknown>> }[] = [];
  readonly noted = new Set<string>();
  #count = 0;

  readonly deps: OAuthDeps = {
    home: this.home,
    now: () => this.nowMs,
    report: (what, detail) => this.reports.push({ what, detail }),
    note: (secret) => this.noted.add(reveal(secret)),
    call: async (call) => {
      const asked = askedBy(call);
      this.asked.push(asked);
      const { status, body } = (await this.answer?.(asked)) ?? this.#exchange(asked);
      return { status, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
    },
  };

  /** The login of an agent, from its own file in this home or from `path`. */
  open(name: string, agent: LoginAgent, provider: string | null = null, path: string | null = null): OAuthSource {
    return openKnownLogin(name, { kind: 'login', agent, path, provider }, this.deps);
  }

  put(path: string, content: object | string, mode = 0o600): string {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
    chmodSync(file, mode);
    return file;
  }

  read(path: string): Record<string, unknown> {
    return JSON.parse(readFileSync(join(this.home, path), 'utf8')) as Record<string, unknown>;
  }

  pass(seconds: number): void {
    this.nowMs += seconds * 1000;
  }

  end(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  #exchange({ members }: AskedRequest): EndpointAnswer {
    if (this.good !== null && members.refresh_token !== this.good) {
      return { status: 400, body: { error: 'invalid_grant', error_description: `no such ${members.refresh_token}` } };
    }
    const number = ++this.#count;
    if (this.rotates) this.good = `refresh-token-${number}`;
    return {
      status: 200,
      body: {
        access_token: `access-token-${number}`,
        token_type: 'Bearer',
        ...(this.lifeSeconds === null ? {} : { expires_in: this.lifeSeconds }),
        ...(this.rotates ? { refresh_token: this.good } : {}),
        ...this.extra,
      },
    };
  }
}

/** The token itself, whether it was at hand or had to be waited for. */
export async function tokenIn(found: Secret | null | Promise<Secret | null>): Promise<string | null> {
  const secret = await found;
  return secret === null ? null : reveal(secret);
}

/** A JWT that nobody signed, which ends at this time. */
export function jwtUntil(ms: number, more: object = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(ms / 1000), ...more })}.c2ln`;
}

function askedBy({ host, outgoing, body }: TokenCall): AskedRequest {
  const contentType = outgoing.headers.get('content-type') ?? '';
  const text = body.toString('utf8');
  const members = (
    contentType === 'application/json' ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
  ) as Record<string, string>;
  const authorization = outgoing.headers.get('authorization') ?? null;
  return { host, target: outgoing.target, contentType, authorization, origin: outgoing.origin, members };
}
