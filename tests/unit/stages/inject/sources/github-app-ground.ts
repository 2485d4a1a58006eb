// A GitHub that answers calls of an App from a script, a clock that a test turns, and sandboxes to mint for.

import { generateKeyPairSync } from 'node:crypto';
import { defaultEffects } from '../../../../../src/path/github-effects.ts';
import type { Sandbox } from '../../../../../src/path/sandbox.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { permissionsFor } from '../../../../../src/policy/app-permissions.ts';
import type { GithubAppSpec } from '../../../../../src/policy/compiled.ts';
import type { AppAnswer, AppCall } from '../../../../../src/stages/inject/sources/github-app-api.ts';
import { GithubAppSource } from '../../../../../src/stages/inject/sources/github-app-source.ts';
import type { SecretAsker, SecretSource } from '../../../../../src/stages/inject/sources/secret-source.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';

export const appKeys = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

export const appSpec: GithubAppSpec = {
  kind: 'github-app',
  appId: '12345',
  privateKey: { kind: 'file', path: '/run/secrets/app.pem' },
  installation: null,
  permissions: null,
  usable: permissionsFor(defaultEffects),
  api: { host: 'api.github.com', prefix: '' },
};

export interface SeenCall {
  readonly line: string;
  readonly authorization: string;
  readonly body: Record<string, unknown> | null;
}

export type Script = (call: SeenCall, raw: AppCall) => AppAnswer | Promise<AppAnswer> | null;

export function answerOf(status: number, json: unknown): AppAnswer {
  return { status, body: Buffer.from(json === null ? '' : JSON.stringify(json)) };
}

export class AppGround {
  nowMs = Date.UTC(2027, 0, 1);
  readonly calls: SeenCall[] = [];
  readonly reports: [string, Readonly<Record<string, unknown>>][] = [];
  readonly gone = new Set<Sandbox>();
  /** Answers in place of the usual one; null: the usual one. */
  script: Script = () => null;
  installed: Record<string, string> = { contents: 'write', issues: 'write', metadata: 'read', administration: 'write' };
  lifeMs = 60 * 60_000;
  keyText: string = appKeys.privateKey;
  readonly source: GithubAppSource;
  #minted = 0;

  constructor(spec: Partial<GithubAppSpec> = {}) {
    const key: SecretSource = { current: () => new Secret('key', this.keyText.trim().replaceAll('\n', ' ')) };
    this.source = new GithubAppSource(
      'github',
      { ...appSpec, ...spec },
      key,
      {
        call: (call) => this.#answer(call),
        isLive: (sandbox) => !this.gone.has(sandbox),
        report: (what, detail) => this.reports.push([what, detail]),
      },
      () => this.nowMs,
    );
  }

  lines(): string[] {
    return this.calls.map(({ line }) => line);
  }

  mints(): Record<string, unknown>[] {
    return this.calls.filter(({ line }) => line.startsWith('POST')).map(({ body }) => body ?? {});
  }

  revoked(): string[] {
    return this.calls.filter(({ line }) => line.startsWith('DELETE')).map(({ authorization }) => authorization);
  }

  async #answer(raw: AppCall): Promise<AppAnswer> {
    const call: SeenCall = {
      line: `${raw.method} ${raw.host}${raw.outgoing.target}`,
      authorization: raw.outgoing.headers.get('authorization') ?? '',
      body: raw.body === null ? null : (JSON.parse(raw.body.toString()) as Record<string, unknown>),
    };
    this.calls.push(call);
    return (await this.script(call, raw)) ?? this.usual(call);
  }

  usual({ line, body }: SeenCall): AppAnswer {
    if (line.startsWith('DELETE')) return answerOf(204, null);
    const owner = /\/repos\/([^/]+)\//.exec(line)?.[1] ?? 'acme';
    const id = owner === 'acme' ? 678 : 679;
    if (line.startsWith('GET'))
      return answerOf(200, { id, account: { login: owner.toUpperCase() }, permissions: this.installed });
    const owned = line.includes('/678/') ? 'acme' : 'other';
    const names = body?.repositories as string[] | undefined;
    return answerOf(201, {
      token: `ghs_token${++this.#minted}`,
      expires_at: new Date(this.nowMs + this.lifeMs).toISOString(),
      permissions: body?.permissions,
      ...(names === undefined ? {} : { repositories: names.map((name) => ({ full_name: `${owned}/${name}` })) }),
    });
  }
}

export function asking(sandbox: Sandbox, repository: string | null): SecretAsker {
  return { sandbox, permission: { git: null, repository } };
}

export { sandboxWith };
