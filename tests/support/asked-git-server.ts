// The gateway's own questions to a real git server over TLS, by the real inject and forward stages, with a flow made by
// hand: what a push that is being judged would have.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitServer, type GitServerPorts } from '../../src/gateway/questions/git-server.ts';
import { Spool } from '../../src/kit/files/spool.ts';
import { Sweeper } from '../../src/kit/sweeper.ts';
import type { Identified, Permission } from '../../src/path/flow.ts';
import { Secret } from '../../src/path/secret.ts';
import type { CompiledPolicy } from '../../src/policy/compiled.ts';
import type { GitServer } from '../../src/stages/authorize/git/git-server.ts';
import { createForwardStage, type ForwardStage } from '../../src/stages/forward/forward-stage.ts';
import { InjectStage } from '../../src/stages/inject/inject-stage.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from './hand-made-flow.ts';
import { handMadePolicy } from './hand-made-policy.ts';
import type { TestCa } from './test-ca.ts';

export const gitHost = 'git.example.com';
export const gitLogin = { user: 'x-access-token', token: 'a-token-of-the-operator' };

export interface AskingGateway {
  readonly forward: ForwardStage;
  readonly spool: Spool;
  /** As on behalf of a push to `repository`; another sandbox asks anew what the server can do. */
  open(repository: string, options?: { signal?: AbortSignal; sandbox?: string; path?: string }): GitServer;
  close(): void;
}

export function startAskingGateway(
  ca: TestCa,
  address: string,
  options: { limits?: GitServerPorts['limits']; credential?: boolean } = {},
): AskingGateway {
  const directory = mkdtempSync(join(tmpdir(), 'asking-'));
  const spool = new Spool(directory, () => 1024 ** 3);
  const sweeper = new Sweeper();
  const policy = policyFor(ca, address);
  const forward = createForwardStage(
    { policy: () => policy, lookup: async () => [], instance: 'test', environmentRoots: [], onDial: () => {} },
    sweeper,
  );
  const inject = new InjectStage(() => policy, { resolve: (name) => new Secret(name, gitLogin.token) });
  const ports = { inject, forward, spool, ...(options.limits === undefined ? {} : { limits: options.limits }) };
  const openServer = createGitServer(ports);
  return {
    forward,
    spool,
    open: (repository, { signal, sandbox, path } = {}) => {
      const { flow, permission } = pushTo(repository, path ?? `/${repository}`, sandbox ?? 'sbx_test');
      const credential = options.credential === false ? null : permission.credential;
      return openServer(flow, { ...permission, credential }, signal ?? new AbortController().signal);
    },
    close: () => {
      forward.drop(null);
      sweeper.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A push as it stands when it is judged. */
export function pushTo(
  repository: string,
  path = `/${repository}`,
  sandbox = 'sbx_test',
): { flow: Identified; permission: Permission } {
  const accepted = acceptedFlow(callerFrom(), canonicalOf('POST', `https://${gitHost}${path}/git-receive-pack`));
  return {
    flow: { ...accepted, sandbox: sandboxWith({ id: sandbox }) },
    permission: {
      rule: 'allow[0]',
      tunnel: false,
      credential: 'git',
      git: { repository, rawRepositoryPath: path, operation: 'receive-pack', ticket: null },
      github: null,
      repository,
    },
  };
}

function policyFor(ca: TestCa, address: string): CompiledPolicy {
  const made = handMadePolicy({ allow: [{ host: gitHost }], credentials: [{ name: 'git', hosts: [gitHost] }] });
  const host = made.allow[0]!.host;
  const spec = made.credentials.get('git')!;
  const placements = spec.placements.map((one) => ({
    ...one,
    injection: { kind: 'basic' as const, username: gitLogin.user },
  }));
  const [ip = '', port = ''] = address.split(':');
  const credential = { ...spec, placements };
  return {
    ...made,
    credentials: new Map([['git', credential]]),
    credentialsFor: (name) => (host.covers(name) ? [credential] : []),
    upstream: {
      resolve: [{ host, address: ip, port: Number(port) }],
      extraRoots: [readFileSync(ca.path, 'utf8')],
      proxy: null,
    },
  };
}
