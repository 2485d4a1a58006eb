// `credentials`: names, places and sources, never values. The credentials of presets in use exist even when the
// document does not mention them (they wait for `sallyport secret set`), so that what the sandbox sends is stripped.
import { X509Certificate } from 'node:crypto';
import type { AppPermissions, CredentialSpec, PathPattern, SourceSpec } from './compiled.ts';
import { isApi } from './effect-places.ts';
import type { MachineFiles } from './load/machine-files.ts';
import { presetCredential, wholeOwnCredential } from './schema/credential-schema.ts';
import type { Findings } from './schema/findings.ts';
import { appSpecOf, enterprisePlacements, githubApp, ownAppCredential } from './schema/github-app-schema.ts';
import { checkPlaceholders } from './schema/placeholder-schema.ts';
import { type PresetCatalog, type PresetCredential, placesToStrip } from './schema/presets.ts';
import { fittingSource, loginWith, plainSourcesIn } from './schema/source-fits.ts';
import { literalSecret } from './schema/source-schema.ts';

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

// Where clients of an unknown API may put auth of their own; taken away before ours goes in.
const commonAuthHeaders = ['x-api-key', 'api-key', 'x-auth-token', 'private-token', 'cookie'];
const commonAuthQuery = ['access_token'];

const memory: SourceSpec = { kind: 'memory' };

export function compileCredentials(
  value: unknown,
  presetsInUse: readonly string[],
  findings: Findings,
  catalog: PresetCatalog,
  usable: AppPermissions,
  machine: MachineFiles,
): Map<string, CredentialSpec> {
  const compiled = new Map<string, CredentialSpec>();
  for (const name of presetsInUse) {
    for (const credential of catalog.presets.get(name)?.credentials ?? []) {
      compiled.set(credential.name, fromPreset(credential, null, memory, [], credential.anonymous));
    }
  }
  if (value === undefined || value === null) return compiled;
  if (typeof value !== 'object' || Array.isArray(value)) {
    findings.error(['credentials'], 'write a map of names such as anthropic: {source: {file: /run/secrets/anthropic}}');
    return compiled;
  }
  for (const [name, entry] of Object.entries(value)) {
    const path = ['credentials', name];
    if (!nameForm.test(name)) {
      findings.error(path, 'a name has letters, digits, dots, hyphens and underscores, at most 64', 'key');
      continue;
    }
    // A bare text is a secret in the wrong place; it gets its own sentence, and is never repeated.
    if (entry !== null && typeof entry !== 'object') {
      findings.error(path, literalSecret);
      continue;
    }
    const known = catalog.credentials.get(name)?.credential;
    // `anthropic:` with nothing after it says the same as leaving it out: wait for `secret set`.
    const map: unknown = entry ?? {};
    const spec = known
      ? readPresetCredential(known, map, path, findings, usable)
      : 'app' in Object(map)
        ? readOwnApp(name, map, path, findings, catalog, usable)
        : readOwn(name, map, path, findings, machine);
    if (!spec) continue;
    const key = keyBeside(spec, map);
    if (key !== null) compiled.set(key.name, key);
    for (const source of plainSourcesIn(spec.source)) {
      if (source.kind !== 'environment') continue;
      findings.warn(
        `credential ${name} is read from the environment variable ${source.variable} of the gateway, which /proc and whatever starts it can show`,
      );
    }
    compiled.set(name, spec);
  }
  checkPlaceholders(compiled, findings);
  return compiled;
}

function readPresetCredential(
  preset: PresetCredential,
  entry: unknown,
  path: string[],
  findings: Findings,
  usable: AppPermissions,
): CredentialSpec | null {
  const checked = findings.check(presetCredential, entry, path);
  if (!checked) return null;
  const known = withPaths(preset, checked.add_paths ?? [], path, findings);
  const forced = Object.entries(checked.companions ?? {});
  const anonymous = checked.anonymous ?? known.anonymous;
  const line = findings.lineOf(path);
  const placeholder = checked.placeholder === undefined ? {} : { placeholder: checked.placeholder };
  if (checked.app === undefined) {
    const source = fittingSource(checked.source ?? memory, known.placements, known.login, path, findings);
    return source === null ? null : { ...fromPreset(known, line, source, forced, anonymous), ...placeholder };
  }
  if (known.name !== 'github') {
    findings.error([...path, 'app'], 'only GitHub has Apps: give this credential a `source`', 'key');
    return null;
  }
  if (checked.source !== undefined) {
    findings.error([...path, 'app'], 'an App makes its own tokens: keep `app` or `source`, not both', 'key');
    return null;
  }
  const app = findings.check(githubApp, checked.app, [...path, 'app']);
  if (!app) return null;
  return { ...fromPreset(known, line, appSpecOf(app, 'github.com', usable), forced, anonymous), ...placeholder };
}

/** The preset's credential with more paths on the hosts of its API. */
function withPaths(
  preset: PresetCredential,
  paths: readonly PathPattern[],
  path: string[],
  findings: Findings,
): PresetCredential {
  if (paths.length === 0) return preset;
  if (!preset.placements.some(isApi)) {
    findings.error([...path, 'add_paths'], 'this credential goes to every path of its hosts: leave it out', 'key');
  }
  const placements = preset.placements.map((one) =>
    isApi(one) ? { ...one, paths: [...(one.paths ?? []), ...paths] } : one,
  );
  return { ...preset, placements };
}

function fromPreset(
  known: PresetCredential,
  line: number | null,
  source: SourceSpec,
  companionForced: CredentialSpec['companionForced'],
  anonymous: boolean,
): CredentialSpec {
  return { ...known, line, login: loginWith(source, known.login), source, companionForced, anonymous };
}

/** An App on an Enterprise host: placed and stripped as GitHub's own credential is. */
function readOwnApp(
  name: string,
  entry: unknown,
  path: string[],
  findings: Findings,
  catalog: PresetCatalog,
  usable: AppPermissions,
): CredentialSpec | null {
  const checked = findings.check(ownAppCredential, entry, path);
  const app = findings.check(githubApp, Object(entry).app, [...path, 'app']);
  if (!checked || !app) return null;
  const host = checked.hosts[0]!;
  const github = catalog.credentials.get('github')?.credential;
  if (github === undefined) throw new Error('the presets know no credential of GitHub');
  if (github.placements.some(({ hosts }) => hosts.some((pattern) => pattern.covers(host)))) {
    findings.error([...path, 'hosts'], 'the App for github.com goes under credentials.github');
    return null;
  }
  const forced = Object.entries(checked.companions ?? {});
  const placed: PresetCredential = { ...github, name, placements: enterprisePlacements(host, github) };
  const anonymous = checked.anonymous ?? github.anonymous;
  return fromPreset(placed, findings.lineOf(path), appSpecOf(app, host, usable), forced, anonymous);
}

function readOwn(
  name: string,
  entry: unknown,
  path: string[],
  findings: Findings,
  machine: MachineFiles,
): CredentialSpec | null {
  const checked = findings.check(wholeOwnCredential, entry, path);
  if (!checked) return null;
  const { client_certificate: certificate, hosts, paths = null } = checked;
  const placements = [{ hosts, paths, injection: checked.inject ?? { kind: 'certificate' as const } }];
  const own = checked.inject === undefined ? certificate?.key : checked.source;
  const source = fittingSource(own ?? memory, placements, null, path, findings);
  if (source === null) return null;
  if (certificate !== undefined) {
    const problem = problemOfCertificate(machine.readText(certificate.cert), certificate.cert);
    if (problem !== null) findings.error([...path, 'client_certificate', 'cert'], problem);
  }
  const keyOf = checked.inject === undefined ? name : `${name}${keySuffix}`;
  const strip = placesToStrip(placements);
  return {
    name,
    line: findings.lineOf(path),
    placements,
    stripHeaders: [...new Set([...strip.headers, ...commonAuthHeaders])],
    stripQuery: [...new Set([...strip.query, ...commonAuthQuery])],
    companionDefaults: [],
    companionForced: Object.entries(checked.companions ?? {}),
    anonymous: checked.anonymous ?? false,
    login: loginWith(source, null),
    source,
    ...(checked.placeholder !== undefined && { placeholder: checked.placeholder }),
    ...(certificate !== undefined && { clientCertificate: { path: certificate.cert, keyOf } }),
  };
}

/** Where a credential has a value of its own, the key of its certificate is kept, listed and set under this name. */
const keySuffix = '.client-key';

function keyBeside(spec: CredentialSpec, entry: unknown): CredentialSpec | null {
  const { clientCertificate } = spec;
  if (clientCertificate === undefined || clientCertificate.keyOf === spec.name) return null;
  const { client_certificate: certificate } = wholeOwnCredential.parse(entry);
  const { placeholder: _, clientCertificate: __, ...rest } = spec;
  return { ...rest, name: clientCertificate.keyOf, placements: [], login: null, source: certificate?.key ?? memory };
}

function problemOfCertificate(text: string | null, path: string): string | null {
  if (text === null) return `cannot read ${path}: check that it is there and readable by the gateway`;
  if (text.includes('PRIVATE KEY-----'))
    return `${path} holds a private key: keep it in a file of its own, for \`key\``;
  try {
    new X509Certificate(text);
    return null;
  } catch {
    return `${path} holds no PEM certificate (-----BEGIN CERTIFICATE-----)`;
  }
}
