// The presets that ship with the package: one readable file, config/presets.yaml, in the same rule syntax a user
// writes. Read once; a mistake in it is a fault of the package and stops the start.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../kit/files/package-root.ts';
import { compileGlob } from '../../kit/text/glob.ts';
import type { CredentialSpec, EffectPaths, HmacSignature, LoginUse, PathPattern, Placement } from '../compiled.ts';
import { type PackageFamily, packageFamilies } from '../load/package-hosts.ts';
import { type PresetDocument, presetDocument } from './credential-schema.ts';
import { readDocument } from './document.ts';
import { Findings } from './findings.ts';
import { formatPolicyError } from './policy-error.ts';
import type { AllowRuleDocument } from './schema.ts';

/** A credential as its preset knows it: everything but where its value comes from. */
export type PresetCredential = Omit<CredentialSpec, 'source' | 'line' | 'companionForced'>;

export interface Preset {
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  readonly rules: readonly AllowRuleDocument[];
  readonly credentials: readonly PresetCredential[];
  /** Its hosts come from this package manager's own configuration. */
  readonly packages: PackageFamily | null;
  /** Its hosts that serve git. */
  readonly gitHosts: readonly string[];
}

export interface PresetCatalog {
  readonly effects: readonly EffectPaths[];
  readonly presets: ReadonlyMap<string, Preset>;
  /** Every credential of every preset, by its name, with the preset it belongs to. */
  readonly credentials: ReadonlyMap<string, { readonly preset: string; readonly credential: PresetCredential }>;
}

declare global {
  /** The content of config/presets.yaml, put in its place by the build: reading YAML is most of what a start costs. */
  var sallyportPresets: unknown;
}

let loaded: PresetCatalog | null = null;

export function loadPresets(): PresetCatalog {
  loaded ??= readBuilt(globalThis.sallyportPresets) ?? readFile(inPackage('config', 'presets.yaml'));
  return loaded;
}

/** Null: this is not a build, or something is wrong with it, which the file then says with line and column. */
function readBuilt(value: unknown): PresetCatalog | null {
  if (value === undefined) return null;
  try {
    return catalogOf(value, new Findings({ value, file: 'presets', locate: () => ({ line: 1, column: 1 }) }));
  } catch {
    return null;
  }
}

function readFile(path: string): PresetCatalog {
  return readPresets(readFileSync(path, 'utf8'), path);
}

export function readPresets(text: string, file: string): PresetCatalog {
  const read = readDocument(text, file);
  if (!read.ok) throw new Error(`the presets are broken: ${read.errors.map(formatPolicyError).join('\n')}`);
  return catalogOf(read.document.value, new Findings(read.document));
}

function catalogOf(raw: unknown, findings: Findings): PresetCatalog {
  const presets = new Map<string, Preset>();
  const effects: EffectPaths[] = [];
  const credentials = new Map<string, { preset: string; credential: PresetCredential }>();
  for (const [name, value] of Object.entries(typeof raw === 'object' && raw !== null ? raw : {})) {
    // Names that begin with a dot hold shared lists (YAML anchors), not presets.
    if (name.startsWith('.')) continue;
    const checked = findings.check<PresetDocument>(presetDocument, value, [name]);
    if (!checked) continue;
    const family = checked.packages ?? null;
    if (family !== null && !isFamily(family)) {
      findings.error([name, 'packages'], 'unknown package family');
      continue;
    }
    const preset: Preset = {
      name,
      about: checked.about,
      rules: checked.allow ?? [],
      credentials: Object.entries(checked.credentials ?? {}).map(([key, spec]) => presetCredentialOf(key, spec)),
      packages: family,
      gitHosts: checked.git_hosts ?? [],
    };
    presets.set(name, preset);
    for (const one of checked.effects ?? []) {
      const { effect, hosts, from, reading: readable = false } = one;
      const paths = one.paths.flatMap(({ text }) => withBelow(text));
      const folded = one.paths.flatMap(({ text }) => withBelow(text.toLowerCase()));
      effects.push({ preset: name, effect, hosts, paths, folded, readable, from });
    }
    for (const credential of preset.credentials) credentials.set(credential.name, { preset: name, credential });
  }
  if (findings.errors.length > 0) {
    throw new Error(`the presets are broken: ${findings.errors.map(formatPolicyError).join('\n')}`);
  }
  return { presets, credentials, effects };
}

/** A path stands for what is below it too, and for its custom methods (`/x:cancel`). */
function withBelow(text: string): PathPattern[] {
  return [text, `${text}/**`, `${text}:**`].map(compileGlob);
}

type CredentialDocument = NonNullable<PresetDocument['credentials']>[string];

function presetCredentialOf(name: string, spec: CredentialDocument): PresetCredential {
  const placements: Placement[] = spec.places.map((place) => ({
    hosts: place.hosts,
    paths: place.paths ?? null,
    injection: place.inject,
  }));
  const strip = placesToStrip(placements);
  return {
    name,
    placements,
    stripHeaders: unique([...strip.headers, ...(spec.strip.headers ?? []).map((header) => header.toLowerCase())]),
    stripQuery: unique([...strip.query, ...(spec.strip.query ?? [])]),
    companionDefaults: Object.entries(spec.defaults ?? {}),
    anonymous: spec.anonymous,
    login: spec.login === undefined ? null : loginUseOf(spec.login),
  };
}

function loginUseOf(login: NonNullable<CredentialDocument['login']>): LoginUse {
  return {
    injection: login.inject ?? null,
    listed: Object.entries(login.listed ?? {}),
    agents: login.agents,
    opencodeProvider: login.opencode ?? null,
    tokenEndpoints: login.endpoints ?? [],
  };
}

/** Where a credential goes itself is always cleared first, and `authorization` with it. */
export function placesToStrip(placements: readonly Placement[]): { headers: string[]; query: string[] } {
  const headers = ['authorization'];
  const query: string[] = [];
  for (const { injection } of placements) {
    if (injection.kind === 'header') headers.push(injection.header.toLowerCase());
    if (injection.kind === 'query') query.push(injection.parameter);
    if (injection.kind === 'hmac') headers.push(...hmacFields(injection.hmac));
  }
  return { headers: unique(headers), query: unique(query) };
}

function hmacFields({ header, format }: HmacSignature): string[] {
  return [header.toLowerCase(), ...(format === 'slack' ? ['x-slack-request-timestamp'] : [])];
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)];
}

function isFamily(text: string): text is PackageFamily {
  return (packageFamilies as readonly string[]).includes(text);
}
