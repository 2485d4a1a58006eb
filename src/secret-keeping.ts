// Puts together what has to do with credentials: where they come from, which values are known, and the stage that puts them
// in, with its guards. The forward stage and the registry are handed in, because both come later.
import type { Secret } from './flow/secret.ts';
import type { ForwardStage } from './forward/forward-stage.ts';
import { callUpstream, callUpstreamOnce } from './gateway-call.ts';
import type { SandboxRegistry } from './identify/registry.ts';
import { signOutgoing } from './inject/aws-sign-outgoing.ts';
import type { GithubAppPorts } from './inject/github-app-source.ts';
import { InjectStage } from './inject/inject-stage.ts';
import { KnownSecrets } from './inject/known-secrets.ts';
import type { LfsTicketStore } from './inject/lfs-ticket-store.ts';
import type { LoginSharing } from './inject/login-keep-shared.ts';
import type { OAuthDeps } from './inject/oauth-open.ts';
import { createOpenSource } from './inject/open-source.ts';
import { OutboundGuard } from './inject/outbound-guard.ts';
import { Scrubs } from './inject/secret-scrub.ts';
import { SecretStore } from './inject/secret-store.ts';
import { TokenDesk } from './inject/token-desk.ts';
import { UserKeys } from './inject/user-keys.ts';
import type { Log } from './kit/log.ts';
import type { CompiledPolicy } from './policy/compiled.ts';

export interface SecretKeepingParts {
  readonly policy: () => CompiledPolicy;
  readonly forward: () => ForwardStage;
  readonly registry: () => SandboxRegistry;
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
  /** Every value that answers and requests are searched for. */
  readonly known: KnownSecrets;
  /** A text without real values, for what is written down about a request. */
  readonly masked: (text: string) => string;
}

export function createSecretKeeping(parts: SecretKeepingParts): SecretKeeping {
  const { policy, forward, registry, lfsTickets, home, env, log } = parts;
  const known = new KnownSecrets();
  const note = (secret: Secret): void => known.note(secret);
  const report: GithubAppPorts['report'] = (what, detail) => log.info(what, detail);
  const githubApps: GithubAppPorts = {
    call: (call) => callUpstream(forward(), call),
    isLive: (sandbox) => registry().lookUpId(sandbox.id) === sandbox,
    report,
  };
  const oauth: OAuthDeps = {
    call: (call) => callUpstreamOnce(forward(), call),
    report,
    alarm: (what, detail) => log.error(what, detail),
    note,
    home,
    sharing: parts.sharing ?? null,
  };
  const userKeys = parts.userKeys ? new UserKeys({ home, workingDirectory: process.cwd(), logins: oauth }) : null;
  const secrets = new SecretStore(createOpenSource({ known, env, githubApps, oauth, userKeys }), known);
  secrets.configure(policy().credentials);
  const scrubs = new Scrubs(known);
  const outbound = new OutboundGuard(known, policy, {
    revoke: (id) => {
      registry()
        .remove(id)
        .catch((error: unknown) => log.error('a sandbox could not be unregistered', { error }));
    },
    report: (what, detail) => log.warn(what, detail),
  });
  const inject = new InjectStage(policy, secrets, {
    lfsTickets,
    openScrub: () => scrubs.open(),
    outbound,
    rehearsal: new OutboundGuard(known, policy, { revoke: () => {}, report: () => {} }),
    tokens: new TokenDesk(),
    sign: (flow, target, headers, secret) => signOutgoing(flow, target, headers, secret, note),
  });
  return { secrets, inject, known, masked: (text) => outbound.masked(text) };
}
