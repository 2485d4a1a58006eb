// Puts together what has to do with credentials, in two steps. The guard knows every value and needs nobody. The keeping
// (sources, and the stage that puts values in) comes after the forward stage, over which tokens are renewed.

import type { Log } from '../../kit/text/log.ts';
import type { Secret } from '../../path/secret.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { ForwardStage } from '../../stages/forward/forward-stage.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import { signOutgoing } from '../../stages/inject/aws/aws-sign-outgoing.ts';
import { OutboundGuard } from '../../stages/inject/guard/outbound-guard.ts';
import { InjectStage } from '../../stages/inject/inject-stage.ts';
import type { LfsTicketStore } from '../../stages/inject/lfs/lfs-ticket-store.ts';
import type { LoginSharing } from '../../stages/inject/logins/login-keep-shared.ts';
import type { OAuthDeps } from '../../stages/inject/logins/oauth-open.ts';
import { SandboxTokenEndpoint } from '../../stages/inject/logins/token-endpoint.ts';
import { KnownSecrets } from '../../stages/inject/scrub/known-secrets.ts';
import { Scrubs } from '../../stages/inject/scrub/secret-scrub.ts';
import { SecretStore } from '../../stages/inject/secret-store.ts';
import type { GithubAppPorts } from '../../stages/inject/sources/github-app-source.ts';
import type { RegistryPorts } from '../../stages/inject/sources/image-tokens.ts';
import { createOpenSource } from '../../stages/inject/sources/open-source.ts';
import { UserKeys } from '../../stages/inject/sources/user-keys.ts';
import { callUpstream, callUpstreamOnce } from '../questions/gateway-call.ts';

export interface SecretGuardParts {
  readonly policy: () => CompiledPolicy;
  readonly registry: Pick<SandboxRegistry, 'remove'>;
  readonly log: Log;
}

export interface SecretGuard {
  /** Every value that answers and requests are searched for. */
  readonly known: KnownSecrets;
  /** Searches what sandboxes send. */
  readonly outbound: OutboundGuard;
  /** A text without real values, for what is written down about a request. */
  readonly masked: (text: string) => string;
}

export function createSecretGuard({ policy, registry, log }: SecretGuardParts): SecretGuard {
  const known = new KnownSecrets();
  const outbound = new OutboundGuard(known, policy, {
    revoke: (id) => {
      registry.remove(id).catch((error: unknown) => log.error('a sandbox could not be unregistered', { error }));
    },
    report: (what, detail) => log.warn(what, detail),
  });
  return { known, outbound, masked: (text) => outbound.masked(text) };
}

export interface SecretKeepingParts {
  readonly guard: SecretGuard;
  readonly policy: () => CompiledPolicy;
  readonly forward: ForwardStage;
  readonly registry: Pick<SandboxRegistry, 'lookUpId'>;
  readonly lfsTickets: LfsTicketStore;
  /** With whom tokens are renewed; null or absent: no other process serves these sandboxes. */
  readonly sharing?: LoginSharing | null;
  /** The home of the gateway's user. */
  readonly home: string;
  /** Where credentials that are variables are taken from, and out of. */
  readonly env: NodeJS.ProcessEnv;
  /** Whether a credential without a source may be one that the user already has. */
  readonly userKeys: boolean;
  readonly log: Log;
}

export interface SecretKeeping {
  readonly secrets: SecretStore;
  readonly inject: InjectStage;
}

export function createSecretKeeping(parts: SecretKeepingParts): SecretKeeping {
  const { policy, forward, registry, lfsTickets, home, env, log } = parts;
  const { known, outbound } = parts.guard;
  const note = (secret: Secret): void => known.note(secret);
  const report: GithubAppPorts['report'] = (what, detail) => log.info(what, detail);
  const githubApps: GithubAppPorts = {
    call: (call) => callUpstream(forward, call),
    isLive: (sandbox) => registry.lookUpId(sandbox.id) === sandbox,
    report,
  };
  const oauth: OAuthDeps = {
    call: (call) => callUpstreamOnce(forward, call),
    report,
    alarm: (what, detail) => log.error(what, detail),
    note,
    home,
    sharing: parts.sharing ?? null,
  };
  const userKeys = parts.userKeys ? new UserKeys({ home, workingDirectory: process.cwd(), logins: oauth }) : null;
  const registries: RegistryPorts = { call: (call) => callUpstream(forward, call) };
  const secrets = new SecretStore(createOpenSource({ known, env, githubApps, oauth, userKeys, registries }), known);
  secrets.configure(policy().credentials);
  const scrubs = new Scrubs(known);
  const inject = new InjectStage(policy, secrets, {
    lfsTickets,
    openScrub: () => scrubs.open(),
    outbound,
    rehearsal: new OutboundGuard(known, policy, { revoke: () => {}, report: () => {} }),
    tokens: new SandboxTokenEndpoint(),
    sign: (flow, target, headers, secret) => signOutgoing(flow, target, headers, secret, note),
    note,
  });
  return { secrets, inject };
}
