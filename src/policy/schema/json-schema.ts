// The shape of sallyport.yaml as a JSON Schema, for editors: made from the very schemas that check the document, with a sentence
// for every key. It tells what can be written; what fits together (a host behind a credential, an App and a source) only
// `sallyport config check` knows.
import * as z from 'zod';
import { type GithubEffect, githubEffects } from '../../path/github-effects.ts';
import { ownCredential, presetCredential } from './credential-schema.ts';
import { githubApp, ownAppCredential } from './github-app-schema.ts';
import { injectionKinds } from './inject-schema.ts';
import { type KeyWords, keyWords } from './key-words.ts';
import { budgetsSection, limitsSection } from './limit-schema.ts';
import { loadPresets } from './presets.ts';
import { plainProxy, proxyKeys } from './proxy-schema.ts';
import { runSection } from './run-schema.ts';
import { allowPreset, allowRule } from './schema.ts';
import {
  approvalsSection,
  auditSection,
  dnsSection,
  dockerSection,
  githubSection,
  gitSection,
  listenSection,
  policySection,
  resolveTarget,
  rootFiles,
  secretsSection,
  upstreamSection,
} from './settings-schema.ts';
import {
  ageKeys,
  awsProfileKeys,
  loginKeys,
  oauthKeys,
  plainKinds,
  plainSource,
  refreshing,
  serviceAccountKeys,
  source,
} from './source-schema.ts';
import { storeSection } from './store-schema.ts';

type JsonSchema = Record<string, unknown>;

/** Draft 7: what the YAML servers of editors read best. */
export function policyJsonSchema(): JsonSchema {
  const properties: JsonSchema = {
    version: { const: 1 },
    listen: section(listenSection),
    allow: { type: ['array', 'null'], items: allowEntry() },
    approvals: section(approvalsSection),
    credentials: credentials(),
    policy: section(policySection),
    github: section(githubSection),
    git: section(gitSection),
    dns: section(dnsSection),
    docker: section(dockerSection),
    limits: section(limitsSection),
    budgets: section(budgetsSection),
    store: { anyOf: [{ type: 'string' }, made(storeSection), { type: 'null' }] },
    secrets: section(secretsSection),
    upstream: section(upstreamSection),
    audit: section(auditSection),
    run: section(runSection),
  };
  const root = { type: 'object', required: ['version'], additionalProperties: false, properties };
  const definitions: JsonSchema = {
    preset: presetNames(),
    effect: effectNames(),
    presetCredential: withWords(credentialOfPreset(false), 'credentials.*'),
    source: withWords({ ...made(source), oneOf: exactlyOne([...plainKinds, ...refreshing]) }, 'source'),
    plainSource: withWords({ ...made(plainSource), oneOf: exactlyOne(plainKinds) }, 'source'),
  };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'sallyport.yaml',
    description: "The policy of Sallyport, the one door between an AI agent's sandbox and the world.",
    ...withWords(root, ''),
    definitions,
  };
}

/** A section that is there with nothing in it says the same as none. */
function section(schema: z.ZodType): JsonSchema {
  return { ...made(schema), type: ['object', 'null'] };
}

function made(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => adjust(zodSchema, jsonSchema),
  });
  return json;
}

function adjust(schema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema): void {
  const { def } = schema._zod;
  // `oneOrMany` in schema.ts: one stands for a list of one.
  if (def.type === 'pipe' && def.in._zod.def.type === 'transform' && json.type === 'array') {
    const { items, minItems } = json;
    delete json.type;
    delete json.items;
    delete json.minItems;
    json.anyOf = [items as JsonSchema, { type: 'array', items, minItems }] as typeof json.anyOf & object;
  }
  // What is looked at before it is read counts as optional with the library, also where it must be there.
  if (def.type === 'object') {
    const needed = Object.keys(def.shape).filter(
      (key) => json.required?.includes(key) || !z.safeParse(def.shape[key]!, undefined).success,
    );
    if (needed.length > 0) json.required = needed;
  }
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  // The library's own word, which says no more than the pattern beside it.
  if (json.format === 'starts_with') delete json.format;
  // Not every reader of schemas knows classes of Unicode characters.
  if (json.pattern?.includes('\\p{')) json.pattern = '^\\S+$';
}

function allowEntry(): JsonSchema {
  return { anyOf: [made(allowPreset), made(allowRule)] };
}

function credentials(): JsonSchema {
  const known = [...loadPresets().credentials.keys()].sort();
  const entry = (name: string): JsonSchema =>
    name === 'github' ? credentialOfPreset(true) : refWithWords('presetCredential');
  return {
    type: ['object', 'null'],
    propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' },
    properties: Object.fromEntries(known.map((name) => [name, entry(name)])),
    additionalProperties: { anyOf: [made(ownCredential), made(ownAppCredential)] },
  };
}

/** Only GitHub has Apps. */
function credentialOfPreset(withApp: boolean): JsonSchema {
  const json = made(presetCredential);
  const { app, ...properties } = json.properties as JsonSchema;
  return { ...json, type: ['object', 'null'], properties: withApp ? { ...properties, app } : properties };
}

function exactlyOne(keys: readonly string[]): JsonSchema[] {
  return keys.map((key) => ({ required: [key] }));
}

function presetNames(): JsonSchema {
  const { presets } = loadPresets();
  const description = [...presets.values()].map(({ name, about }) => `${name}: ${about}`).join('\n');
  return { type: 'string', enum: [...presets.keys()], description };
}

function effectNames(): JsonSchema {
  const names = Object.keys(githubEffects) as GithubEffect[];
  const description = names.map((name) => `${name}: ${githubEffects[name]}`).join('\n');
  return { type: 'string', enum: names, description };
}

const ref = (name: string): JsonSchema => ({ $ref: `#/definitions/${name}` });
// Beside a $ref draft 7 reads nothing, and there is a sentence beside it.
const refWithWords = (name: string): JsonSchema => ({ allOf: [ref(name)] });

/** What the section schemas leave to a schema of its own (checked after them, so that all errors are found at once). */
const parts: Readonly<Record<string, () => JsonSchema>> = {
  'allow[].preset': () => refWithWords('preset'),
  'credentials.*.source': () => refWithWords('source'),
  'credentials.*.client_certificate.key': () => refWithWords('plainSource'),
  'credentials.*.app': () => made(githubApp),
  'credentials.*.app.private_key': () => refWithWords('plainSource'),
  'source.age': () => made(ageKeys),
  'source.age.identity': () => refWithWords('plainSource'),
  'source.age.passphrase': () => refWithWords('plainSource'),
  'source.login': () => made(loginKeys),
  'source.oauth': () => made(oauthKeys),
  'source.oauth.client_secret': () => refWithWords('plainSource'),
  'source.oauth.refresh_token': () => refWithWords('plainSource'),
  'source.google_service_account': () => made(serviceAccountKeys),
  'source.google_service_account.key': () => refWithWords('plainSource'),
  'source.aws_profile': () => made(awsProfileKeys),
  'store.password': () => refWithWords('plainSource'),
  'store.ca': () => made(rootFiles),
  'upstream.ca': () => ({ anyOf: [made(rootFiles), { type: 'null' }] }),
  'upstream.resolve': () => ({ type: ['object', 'null'], additionalProperties: made(resolveTarget) }),
  'upstream.proxy': () => ({ anyOf: [{ const: 'system' }, made(plainProxy), made(proxyKeys), { type: 'null' }] }),
  'upstream.proxy.password': () => refWithWords('plainSource'),
  'github.effects.*.allow[]': () => ref('effect'),
  'github.effects.*.ask[]': () => ref('effect'),
  'github.effects.*.block[]': () => ref('effect'),
};

const host = '^[^\\s/:]+$';
const path = '^/[^?#%]*$';
const addressAndPort = ':[0-9]{1,5}$';

/** What texts that are read by hand look like: wide enough for all that is read, narrow enough to show a slip. */
const forms: Readonly<Record<string, string>> = {
  'listen.proxy': addressAndPort,
  'listen.mtls': addressAndPort,
  'listen.dashboard': addressAndPort,
  'allow[].host': host,
  'allow[].methods': '^[^a-z\\s]+$',
  'allow[].paths': path,
  'credentials.*.hosts': host,
  'credentials.*.paths': path,
  'credentials.*.add_paths': path,
  'github.hosts': host,
  'git.hosts': host,
  // The scheme of an address may be in upper case.
  'upstream.proxy': '^[Hh][Tt][Tt][Pp]://',
  'upstream.proxy.url': '^[Hh][Tt][Tt][Pp]://',
  'upstream.proxy.except': host,
  'source.oauth.token_url': '^[Hh][Tt][Tt][Pp][Ss]://',
};

/** Places that are said once for several. */
function shared(place: string): string {
  return place
    .replace(/^limits\.(?:credential|gateway)\./, 'limits.')
    .replace(/^budgets\.(?:sandbox|credential|gateway)\./, 'budgets.*.')
    .replace(/^github\.effects\.(?:bot|user)\./, 'github.effects.*.')
    .replace(/^credentials\.[^.*]+/, 'credentials.*');
}

/** The schema with the words for each key, and with the parts that have a schema of their own. */
function withWords(schema: JsonSchema, place: string): JsonSchema {
  const full: JsonSchema = { ...schema };
  const form = forms[place.replace(/\[\]$/, '')];
  if (form !== undefined && [full.type].flat().includes('string')) full.pattern = form;
  if (place === 'credentials.*.inject') full.oneOf = exactlyOne(injectionKinds);
  if (isSchema(full.properties)) {
    const { properties } = full;
    full.properties = Object.fromEntries(
      Object.entries(properties).map(([key, value]) => {
        const at = shared(place === '' ? key : `${place}.${key}`);
        return [key, { ...wordsOf(at), ...withWords(partAt(at, value as JsonSchema), at) }];
      }),
    );
  }
  if (isSchema(full.items)) full.items = withWords(partAt(`${place}[]`, full.items), `${place}[]`);
  if (isSchema(full.additionalProperties)) {
    const at = shared(`${place}.*`);
    full.additionalProperties = { ...wordsOf(at), ...withWords(full.additionalProperties, at) };
  }
  if (Array.isArray(full.anyOf)) full.anyOf = full.anyOf.map((one: JsonSchema) => withWords(one, place));
  return full;
}

function partAt(place: string, schema: JsonSchema): JsonSchema {
  const part = parts[place]?.();
  return part === undefined ? schema : { ...part, ...(schema.default !== undefined && { default: schema.default }) };
}

function wordsOf(place: string): JsonSchema {
  const words: KeyWords | undefined = keyWords[place];
  if (words === undefined) return {};
  const [description, ...examples] = typeof words === 'string' ? [words] : words;
  return { title: place, description, ...(examples.length > 0 && { examples }) };
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
