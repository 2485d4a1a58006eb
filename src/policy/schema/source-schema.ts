// `source` of a credential: where a value comes from, never the value. Plain sources hold one value; the others make
// tokens that refresh. Never reads a file.
import * as z from 'zod';
import type { PlainSource, SourceSpec } from '../compiled.ts';
import { listOf, strictKeys, textRead, wholeNumber } from './schema.ts';

const sourceForms =
  'write source: {file: /absolute/path}, {command: [program, argument]}, or leave it out and run `sallyport secret set NAME`';

/** Of a part of a source, which nobody can set by hand. */
const partForms = 'write {file: /absolute/path} or {command: [program, argument]}';

// Someone who writes one of these means to put the secret itself into the file.
const literalKeys = new Set('value literal secret token key api_key apikey password pass text plain string'.split(' '));

const literal = (forms: string): string => `a secret is never written into this file: ${forms}`;

export const literalSecret = literal(sourceForms);

const literalIn =
  (message: string) =>
  (key: string): string | null =>
    literalKeys.has(key.toLowerCase()) ? message : null;

export const literalProblem = literalIn(literalSecret);

const filePath = z
  .string({ error: 'write the absolute path of a file' })
  .startsWith('/', { error: 'write the absolute path of the file, from /' });
const plainText = z
  .string({ error: 'write a text' })
  .regex(/^[\x20-\x7e]+$/, { error: 'write plain ASCII; it may not be empty' });
const variableName = z
  .string({ error: 'write the name of a variable' })
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'write the name of a variable such as MY_API_KEY' });
const textMap = z.record(z.string().regex(/^[A-Za-z0-9_.-]+$/, { error: 'write plain names' }), plainText, {
  error: 'write a map of names and texts',
});

const plainShape = {
  file: filePath.optional(),
  command: listOf(
    z.string({ error: 'write a text' }).min(1, { error: 'a word of a command is not empty' }),
    '["pass", "show", "my-api"] (there is no shell)',
  ).optional(),
  ttl_seconds: wholeNumber(0, 86_400).optional(),
  pass_env: listOf(variableName, '[VAULT_ADDR]').optional(),
  env: variableName.optional(),
  i_accept_environment: z.literal(true, { error: 'write true, or use another source' }).optional(),
  /** Read below: what opens it is a source itself. */
  age: z.unknown().optional(),
  keyring: textMap
    .refine((map) => Object.keys(map).length > 0, { error: 'write what to look for: {service: NAME, account: NAME}' })
    .optional(),
};

const plainKeys = strictKeys(plainShape, literalIn(literal(partForms)));

const environmentProblem =
  'an environment variable shows in /proc and in whatever starts the gateway: use a file or a command, or accept it with `i_accept_environment: true`';

type Refuse = (message: string) => never;

function refusal(context: z.RefinementCtx): Refuse {
  return (message) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
}

export const plainKinds = ['file', 'command', 'env', 'age', 'keyring'] as const;

function plainOf(source: z.output<typeof plainKeys>, context: z.RefinementCtx): PlainSource {
  const refuse = refusal(context);
  if (source.ttl_seconds !== undefined && !source.command) return refuse('`ttl_seconds` goes with `command` only');
  if (source.pass_env !== undefined && !source.command) return refuse('`pass_env` goes with `command` only');
  if (source.i_accept_environment && !source.env) return refuse('`i_accept_environment` goes with `env` only');
  if (source.file !== undefined) return { kind: 'file', path: source.file };
  if (source.command) {
    const passEnv = source.pass_env === undefined ? {} : { passEnv: source.pass_env };
    return { kind: 'command', argv: source.command, ttlSeconds: source.ttl_seconds ?? 300, ...passEnv };
  }
  if (source.keyring !== undefined) return { kind: 'keyring', attributes: Object.entries(source.keyring) };
  if (source.age !== undefined) return ageOf(source.age, context);
  if (!source.i_accept_environment) return refuse(environmentProblem);
  return { kind: 'environment', variable: source.env! };
}

const notLiteral =
  (forms: string) =>
  (value: unknown, context: z.RefinementCtx): unknown => {
    if (typeof value !== 'string') return value;
    context.addIssue({ code: 'custom', message: literal(forms) });
    return z.NEVER;
  };

/** A source of one value. */
export const plainSource: z.ZodType<PlainSource> = z
  .preprocess(notLiteral(partForms), plainKeys)
  .transform((source, context): PlainSource => {
    const kinds = plainKinds.filter((kind) => source[kind] !== undefined);
    if (kinds.length !== 1) return refusal(context)(oneSource(kinds, partForms));
    return plainOf(source, context);
  });

export const ageKeys = strictKeys({
  file: filePath,
  identity: z.lazy(() => plainSource).optional(),
  passphrase: z.lazy(() => plainSource).optional(),
});

function ageOf(value: unknown, context: z.RefinementCtx): PlainSource {
  const checked = nested(ageKeys, value, ['age'], context);
  if (checked === null) return z.NEVER;
  if ((checked.identity === undefined) === (checked.passphrase === undefined)) {
    return refusal(context)('write what opens it: age: {file: F, identity: {file: KEY}} or passphrase: {command: […]}');
  }
  const { file, identity, passphrase } = checked;
  return { kind: 'age', path: file, identity: identity ?? null, passphrase: passphrase ?? null };
}

/** Checks a part by its own schema, with its findings under its own path. */
function nested<T>(schema: z.ZodType<T>, value: unknown, path: string[], context: z.RefinementCtx): T | null {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  // As they are: an unknown key keeps its name, and a missing one that it is missing.
  for (const issue of checked.error.issues) {
    context.addIssue({ ...issue, path: [...path, ...issue.path] } as Parameters<typeof context.addIssue>[0]);
  }
  return null;
}

function oneSource(kinds: readonly string[], forms: string): string {
  return `one source, not ${kinds.length === 0 ? 'none' : kinds.join(' and ')}: ${forms}`;
}

const agents = z.enum(['claude', 'codex', 'gemini', 'opencode'], { error: 'write claude, codex, gemini or opencode' });
export const loginKeys = z.union(
  [
    agents.transform((agent) => ({ agent, file: undefined, provider: undefined })),
    strictKeys({ agent: agents, file: filePath.optional(), provider: plainText.optional() }),
  ],
  { error: 'write login: claude (or codex, gemini, opencode), or {agent: opencode, provider: NAME, file: /path}' },
);

const tokenUrl = textRead((text) => {
  const problem = { problem: 'write the https address of the token endpoint, e.g. https://auth.example.com/token' };
  if (!URL.canParse(text)) return problem;
  const url = new URL(text);
  const plain = url.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
  if (!plain) return problem;
  return { value: { host: url.hostname, port: Number(url.port || 443), target: `${url.pathname}${url.search}` } };
}, 'the https address of the token endpoint');

export const oauthKeys = strictKeys({
  token_url: tokenUrl,
  grant: z.enum(['refresh_token', 'client_credentials'], { error: 'write refresh_token or client_credentials' }),
  client_id: plainText.optional(),
  client_secret: plainSource.optional(),
  client_auth: z.enum(['basic', 'post', 'none'], { error: 'write basic, post or none' }).optional(),
  refresh_token: plainSource.optional(),
  scope: plainText.optional(),
  parameters: textMap.optional(),
  body: z.enum(['form', 'json'], { error: 'write form or json' }).default('form'),
});

const scopeList = listOf(plainText, '["https://www.googleapis.com/auth/cloud-platform"]');
export const serviceAccountKeys = strictKeys({
  key: plainSource,
  scopes: scopeList.default(['https://www.googleapis.com/auth/cloud-platform']),
  subject: plainText.optional(),
});

const profileName = z
  .string({ error: 'write the name of a profile' })
  .regex(/^[^\s[\]]+$/, { error: 'write its name' });
export const awsProfileKeys = z.union(
  [
    profileName.transform((profile) => ({ profile, file: undefined })),
    strictKeys({ profile: profileName.default('default'), file: filePath.optional() }),
  ],
  { error: 'write aws_profile: NAME, or {profile: NAME, file: /path}' },
);

export const refreshing = ['login', 'oauth', 'google_service_account', 'aws_profile'] as const;
const part = z.unknown().optional();
const sourceKeys = strictKeys(
  { ...plainShape, login: part, oauth: part, google_service_account: part, aws_profile: part },
  literalProblem,
);

export type WrittenSource = Exclude<SourceSpec, { readonly kind: 'github-app' }>;

/** Where the value of a credential comes from. */
export const source: z.ZodType<WrittenSource> = z
  .preprocess(notLiteral(sourceForms), sourceKeys)
  .transform((source, context): WrittenSource => {
    const kinds = [...plainKinds, ...refreshing].filter((kind) => source[kind] !== undefined);
    if (kinds.length !== 1) return refusal(context)(oneSource(kinds, sourceForms));
    if (source.login !== undefined) return loginOf(source.login, context);
    if (source.oauth !== undefined) return oauthOf(source.oauth, context);
    if (source.google_service_account !== undefined) return accountOf(source.google_service_account, context);
    if (source.aws_profile !== undefined) return profileOf(source.aws_profile, context);
    return plainOf(source, context);
  });

function loginOf(value: unknown, context: z.RefinementCtx): WrittenSource {
  const checked = nested(loginKeys, value, ['login'], context);
  if (checked === null) return z.NEVER;
  if (checked.provider !== undefined && checked.agent !== 'opencode') {
    return refusal(context)('`provider` goes with `agent: opencode` only: its file has an entry for each');
  }
  return { kind: 'login', agent: checked.agent, path: checked.file ?? null, provider: checked.provider ?? null };
}

function oauthOf(value: unknown, context: z.RefinementCtx): WrittenSource {
  const checked = nested(oauthKeys, value, ['oauth'], context);
  if (checked === null) return z.NEVER;
  const refuse = refusal(context);
  const { grant, client_id: clientId = null } = checked;
  if (grant === 'refresh_token' && checked.refresh_token === undefined) {
    return refuse('grant refresh_token needs refresh_token: {file: /absolute/path}');
  }
  if (grant === 'client_credentials') {
    if (checked.refresh_token !== undefined) return refuse('`refresh_token` goes with grant refresh_token only');
    if (clientId === null || checked.client_secret === undefined) {
      return refuse('grant client_credentials needs client_id and client_secret: {file: /absolute/path}');
    }
  }
  if (checked.client_secret !== undefined && clientId === null) return refuse('`client_secret` needs `client_id`');
  if (checked.client_secret === undefined && ['basic', 'post'].includes(checked.client_auth ?? 'none')) {
    return refuse('`client_auth` needs `client_secret`');
  }
  return {
    kind: 'oauth',
    grant,
    tokenUrl: checked.token_url,
    clientId,
    clientSecret: checked.client_secret ?? null,
    clientAuth: checked.client_auth ?? (checked.client_secret === undefined ? 'none' : 'basic'),
    refreshToken: checked.refresh_token ?? null,
    scope: checked.scope ?? null,
    parameters: Object.entries(checked.parameters ?? {}),
    body: checked.body,
  };
}

function accountOf(value: unknown, context: z.RefinementCtx): WrittenSource {
  const checked = nested(serviceAccountKeys, value, ['google_service_account'], context);
  if (checked === null) return z.NEVER;
  return { kind: 'google-service-account', key: checked.key, scopes: checked.scopes, subject: checked.subject ?? null };
}

function profileOf(value: unknown, context: z.RefinementCtx): WrittenSource {
  const checked = nested(awsProfileKeys, value, ['aws_profile'], context);
  return checked === null ? z.NEVER : { kind: 'aws-profile', path: checked.file ?? null, profile: checked.profile };
}
