import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createSecretGuard,
  createSecretKeeping,
  type SecretGuard,
  type SecretKeeping,
} from '../../../../src/gateway/build/secret-keeping.ts';
import { createLog } from '../../../../src/kit/text/log.ts';
import { placeholderFor } from '../../../../src/kit/text/placeholder.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Injected } from '../../../../src/path/flow.ts';
import type { CredentialSpec } from '../../../../src/policy/compiled.ts';
import type { ForwardStage } from '../../../../src/stages/forward/forward-stage.ts';
import type { SandboxRegistry } from '../../../../src/stages/identify/registry/registry.ts';
import { LfsTicketStore } from '../../../../src/stages/inject/lfs/lfs-ticket-store.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';
import { authorized } from '../../stages/inject/authorized-flow.ts';
import { closed } from '../questions/scripted-stages.ts';

let folder: string;
/** Ids of the sandboxes in whose name the endpoint was asked, and of those whose connections were closed. */
let asked: string[];
let dropped: (string | null)[];
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-keeping-'));
  [asked, dropped, lines] = [[], [], []];
});
afterEach(() => rmSync(folder, { recursive: true }));

function keeping(
  script: (flow: Injected) => void,
  app: CredentialSpec['source'] | null = null,
): SecretKeeping & SecretGuard {
  const path = join(folder, 'refresh');
  writeFileSync(path, 'the-refresh-token-of-ada', { mode: 0o600 });
  const made = handMadePolicy({ credentials: [{ name: 'my-api', hosts: ['api.example.com'] }] });
  const source: CredentialSpec['source'] = {
    kind: 'oauth',
    grant: 'refresh_token',
    tokenUrl: { host: 'login.example.com', port: 443, target: '/token' },
    clientId: 'the-client',
    clientSecret: null,
    clientAuth: 'none',
    refreshToken: { kind: 'file', path },
    scope: null,
    parameters: [],
    body: 'form',
  };
  const policy = {
    ...made,
    secrets: { ...made.secrets, misplaced: 'revoke' as const },
    credentials: new Map([...made.credentials].map(([name, spec]) => [name, { ...spec, source: app ?? source }])),
  };
  const forward: ForwardStage = {
    name: 'forward',
    drop: (id) => void dropped.push(id),
    run: async (flow) => {
      asked.push(flow.sandbox.id);
      script(flow);
      return { ...flow, status: 200, upstreamAddress: null };
    },
  };
  const registry = {
    // Somebody else has the id by now.
    lookUpId: () => ({}),
    remove: () => Promise.reject(new Error('nobody is unregistered in these tests')),
  } as unknown as SandboxRegistry;
  const log = createLog({ format: 'json', write: (line) => lines.push(line) });
  const guard = createSecretGuard({ policy: () => policy, registry, log });
  const kept = createSecretKeeping({
    guard,
    policy: () => policy,
    forward,
    registry,
    lfsTickets: new LfsTicketStore(),
    home: folder,
    env: process.env,
    userKeys: false,
    log,
  });
  return { ...guard, ...kept };
}

function give(flow: Injected, answer: object): void {
  const head = { status: 200, reason: '', headers: new HeaderList(), framing: { kind: 'chunked' } as const };
  const writer = flow.exchange.respond(head);
  writer.write(Buffer.from(JSON.stringify(answer)));
  writer.end(null);
}

test('an endpoint that was gone before it answered is not asked a second time, and the operator is told as of an error', async () => {
  const { secrets } = keeping(() => {
    throw closed();
  });
  await expect(secrets.resolve('my-api')).rejects.toMatchObject({ code: 'credential.unreadable' });
  expect(asked).toHaveLength(1);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', msg: 'a token could not be renewed' },
  ]);
});

test('each call has a connection of its own, which is closed behind it', async () => {
  for (let i = 0; i < 2; i++) {
    await keeping((flow) => give(flow, { access_token: 'the-access-token-of-ada' })).secrets.resolve('my-api');
  }
  expect(new Set(asked).size).toBe(2);
  expect(dropped).toEqual(asked);
});

test('refresh tokens, spent and new, are among the values that are masked', async () => {
  const { secrets, masked } = keeping((flow) =>
    give(flow, { access_token: 'the-access-token-of-ada', refresh_token: 'another-refresh-token-of-ada' }),
  );
  await secrets.resolve('my-api');
  for (const value of ['the-refresh-token-of-ada', 'another-refresh-token-of-ada', 'the-access-token-of-ada']) {
    expect(masked(`it is ${value}`)).not.toContain(value);
  }
});

test('what is only asked about (`sallyport check`) is refused as it would be, and nobody is unregistered for it', async () => {
  const { inject } = keeping(() => {});
  const flow = authorized({
    canonical: { host: 'elsewhere.example.com' },
    headers: [['X-Note', placeholderFor('my-api')]],
  });
  await expect(inject.preview(flow)).rejects.toMatchObject({ code: 'secret.placeholder-misplaced' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(lines).toEqual([]);
});

test('a token of a GitHub App is not minted for a registration that is no longer in force', async () => {
  const path = join(folder, 'key.pem');
  writeFileSync(path, 'no key is looked at', { mode: 0o600 });
  const { secrets } = keeping(() => {}, {
    kind: 'github-app',
    appId: '1',
    privateKey: { kind: 'file', path },
    installation: null,
    permissions: null,
    usable: {},
    api: { host: 'api.github.com', prefix: '' },
  });
  const flow = authorized({ permission: { credential: 'my-api', repository: 'acme/widgets' } });
  const asker = { ...flow, sandbox: { ...flow.sandbox, repos: ['acme/widgets'] } };
  await expect(async () => secrets.resolve('my-api', asker)).rejects.toMatchObject({ code: 'credential.unreadable' });
  expect(secrets.list()[0]!.error).toContain('no longer registered');
  expect(asked).toEqual([]);
});
