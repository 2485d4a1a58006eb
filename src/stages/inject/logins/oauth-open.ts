// From what the configuration says of a login, an OAuth client or a service account to the source that keeps its token
// good. Puts the parts together; decides nothing about tokens.
import type { LoginSpec, OAuthSpec, PlainSource, ServiceAccountSpec } from '../../../policy/compiled.ts';
import { type SecretSource, SourceError } from '../sources/secret-source.ts';
import { knownLogin } from './login-agents.ts';
import { LoginFile } from './login-file.ts';
import type { LoginKeep } from './login-keep.ts';
import { type LoginSharing, SharedLoginKeep } from './login-keep-shared.ts';
import { ClientCredentialsGrant, RefreshGrant, type TokenClient } from './oauth-grant.ts';
import { nothingKept, PlainKeep } from './oauth-plain-keep.ts';
import { ServiceAccountGrant } from './oauth-service-account.ts';
import { type OAuthPorts, OAuthSource } from './oauth-source.ts';

export interface OAuthDeps extends OAuthPorts {
  /** The home of the gateway's user, where agents keep their logins. */
  readonly home: string;
  /** With whom else tokens are renewed: other gateways, or workers. Absent: nobody. */
  readonly sharing?: LoginSharing | null;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Opens a source inside of another. */
export type OpenPlain = (name: string, spec: PlainSource) => SecretSource;

/** A login that cannot be used is a source that says so: the rest of the gateway goes on without it. */
export function openLogin(name: string, spec: LoginSpec, deps: OAuthDeps): SecretSource {
  try {
    return openKnownLogin(name, spec, deps);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return {
      current() {
        throw error;
      },
    };
  }
}

/** Throws SourceError. */
export function openKnownLogin(name: string, spec: LoginSpec, deps: OAuthDeps): OAuthSource {
  const { client, file } = knownLogin(name, spec, deps.home);
  const grant = client === null ? null : new RefreshGrant(name, client, deps.call);
  const { agent, provider } = spec;
  return new OAuthSource(
    name,
    grant,
    shared(name, { agent, provider }, new LoginFile(file, deps.now), deps),
    deps,
    deps.now,
  );
}

export function openOAuth(name: string, spec: OAuthSpec, open: OpenPlain, deps: OAuthDeps): OAuthSource {
  const { clientId, clientAuth, scope, parameters, body, refreshToken } = spec;
  const about = [spec.grant, spec.tokenUrl, clientId, scope, parameters];
  const members = [...(scope === null ? [] : [['scope', scope] as const]), ...parameters];
  const client: TokenClient = {
    address: spec.tokenUrl,
    body,
    clientId,
    clientAuth,
    clientSecret: spec.clientSecret === null ? null : open(`${name} client secret`, spec.clientSecret),
    parameters: () => members,
  };
  if (spec.grant === 'client_credentials') {
    const keep = shared(name, about, nothingKept, deps);
    return new OAuthSource(name, new ClientCredentialsGrant(name, client, deps.call), keep, deps, deps.now);
  }
  if (refreshToken === null) throw new SourceError('its refresh token has no source');
  const keep = new PlainKeep({
    name,
    source: open(`${name} refresh token`, refreshToken),
    path: refreshToken.kind === 'file' ? refreshToken.path : null,
    onlyInMemory: () =>
      (deps.alarm ?? deps.report)(
        'a refresh token was exchanged for another, which is in the memory of the gateway alone: after a restart the one in its source is of no more use. Keep it in a file that the gateway may write',
        { credential: name },
      ),
  });
  return new OAuthSource(
    name,
    new RefreshGrant(name, client, deps.call),
    shared(name, about, keep, deps),
    deps,
    deps.now,
  );
}

export function openServiceAccount(
  name: string,
  spec: ServiceAccountSpec,
  open: OpenPlain,
  deps: OAuthDeps,
): OAuthSource {
  const key = open(`${name} key`, spec.key);
  const grant = new ServiceAccountGrant(name, spec, key, deps.call, deps.note);
  const { scopes, subject } = spec;
  return new OAuthSource(name, grant, shared(name, { scopes, subject }, nothingKept, deps), deps, deps.now);
}

/** `about`: what else a token depends on than the name of its credential. */
function shared(name: string, about: unknown, keep: LoginKeep, { sharing = null, now }: OAuthDeps): LoginKeep {
  return sharing === null ? keep : new SharedLoginKeep(name, about, keep, sharing, now);
}
