// The shape of the policy document, section by section, with the sentence for each thing that can be wrong. Small
// texts (hosts, paths, addresses) are read into their compiled form on the way. Never reads a file.
import * as z from 'zod';
import { didYouMean } from './closest-word.ts';
import type { GithubAppSpec, Injection, SourceSpec } from './compiled.ts';
import { parseHostName, parseHostPattern } from './host-pattern.ts';
import type { Parsed } from './parsed.ts';
import { parsePathPattern } from './path-pattern.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** A map with these keys and no others; `explain` may say more about a key than "unknown". */
export function strictKeys<S extends Shape>(shape: S, explain?: (key: string) => string | null) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `write a map with the keys ${known.join(', ')}`;
      return issue.keys.map((key) => explain?.(key) ?? `unknown key: ${didYouMean(key, known)}`).join('\n');
    },
  });
}

/** A text that `read` turns into a value or into a problem. */
export function textRead<T>(read: (text: string) => Parsed<T>, what: string) {
  return z.string({ error: `write ${what}` }).transform((text, context): T => {
    const result = read(text);
    if ('value' in result) return result.value;
    context.addIssue({ code: 'custom', message: result.problem });
    return z.NEVER;
  });
}

export function oneOrMany<T extends z.ZodType>(item: T) {
  const list = z
    .array(item, { error: 'write one, or a list' })
    .min(1, { error: 'the list is empty: write at least one, or leave the key out' });
  return z.preprocess((value) => (Array.isArray(value) || value === undefined ? value : [value]), list);
}

function listOf<T extends z.ZodType>(item: T, example: string) {
  return z
    .array(item, { error: `write a list such as ${example}` })
    .min(1, { error: 'the list is empty: write at least one, or leave the key out' });
}

export function wholeNumber(min: number, max: number) {
  const error = `write a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export const yesOrNo = z.boolean({ error: 'write true or false' });
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const printable = /^[\x20-\x7e]*$/;

export const hostName = textRead(parseHostName, 'a host name such as ghe.example.com');
export const hostPattern = textRead(parseHostPattern, 'a host name such as api.example.com or "*.example.com"');
const pathPattern = textRead(parsePathPattern, 'a path pattern such as "/v1/**"');

const method = textRead<string>((text) => {
  if (text === 'CONNECT') return { problem: 'CONNECT is how clients reach the door, not a method to allow' };
  if (!token.test(text) || text.length > 32) return { problem: 'this is not a method: write one such as GET' };
  return text === text.toUpperCase() ? { value: text } : { problem: `methods are upper case: ${text.toUpperCase()}` };
}, 'a method such as GET');

export const methodName = method;

const ruleKeys = strictKeys({
  host: oneOrMany(hostPattern),
  methods: listOf(method, '[GET, POST]').optional(),
  paths: listOf(pathPattern, '["/v1/**"]').optional(),
  ports: listOf(wholeNumber(1, 65535), '[443]').optional(),
  plain_http: yesOrNo.optional(),
  tunnel: yesOrNo.optional(),
});

/** One entry of `allow` that names hosts itself. */
export const allowRule = ruleKeys.superRefine((rule, context) => {
  if (!rule.tunnel) return;
  for (const key of ['methods', 'paths', 'plain_http'] as const) {
    if (rule[key] === undefined || rule[key] === false) continue;
    const message = `a tunnel is not decrypted, so \`${key}\` cannot be checked: remove it or \`tunnel\``;
    context.addIssue({ code: 'custom', path: [key], message });
  }
});

export type AllowRuleDocument = z.output<typeof allowRule>;

/** One entry of `allow` that names a preset; whether it exists is the compiler's question. */
export const allowPreset = strictKeys({ preset: z.string({ error: 'write the name of a preset' }) }, (key) =>
  key in ruleKeys.shape ? `a preset brings its own \`${key}\`: write a separate entry with \`host\` for more` : null,
);

// Fields that say where a message goes or how long it is; a credential or a companion in them would break framing.
const reservedHeaders = new Set(
  'host connection content-length transfer-encoding upgrade te trailer keep-alive proxy-authorization proxy-connection expect via'.split(
    ' ',
  ),
);

export const headerName = textRead<string>((text) => {
  if (!token.test(text)) return { problem: 'this is not a header name: write one such as x-api-key' };
  if (reservedHeaders.has(text.toLowerCase())) return { problem: 'this field belongs to the connection: use another' };
  return { value: text };
}, 'a header name such as x-api-key');

const headerText = z
  .string({ error: 'write a text' })
  .regex(printable, { error: 'a header value holds plain ASCII and no control characters' });

const injectKeys = strictKeys({
  header: headerName.optional(),
  prefix: headerText.optional(),
  bearer: z.literal(true, { error: 'write `bearer: true`' }).optional(),
  basic: strictKeys({
    username: headerText.refine((name) => !name.includes(':'), { error: 'a basic user name holds no colon' }),
  }).optional(),
  query: z
    .string({ error: 'write the name of a query parameter' })
    .regex(/^[A-Za-z0-9_.~$-]+$/, { error: 'write the plain name of a query parameter such as key' })
    .optional(),
});

/** How a credential goes out. */
export const injection = injectKeys.transform((inject, context): Injection => {
  const kinds = (['header', 'bearer', 'basic', 'query'] as const).filter((kind) => inject[kind] !== undefined);
  const refuse = (message: string): never => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (kinds.length !== 1) {
    return refuse('write exactly one of header: NAME, bearer: true, basic: {username: NAME}, query: NAME');
  }
  if (inject.prefix !== undefined && inject.header === undefined) return refuse('`prefix` goes with `header` only');
  if (inject.header !== undefined) return { kind: 'header', header: inject.header, prefix: inject.prefix ?? '' };
  if (inject.basic !== undefined) return { kind: 'basic', username: inject.basic.username };
  if (inject.query !== undefined) return { kind: 'query', parameter: inject.query };
  return { kind: 'header', header: 'Authorization', prefix: 'Bearer ' };
});

const sourceForms =
  'write source: {file: /absolute/path}, {command: [program, argument]}, or leave it out and run `sallyport secret set NAME`';

// Someone who writes one of these means to put the secret itself into the file.
const literalKeys = new Set('value literal secret token key api_key apikey password pass text plain string'.split(' '));

export const literalSecret = `a secret is never written into this file: ${sourceForms}`;

const literalProblem = (key: string): string | null => (literalKeys.has(key.toLowerCase()) ? literalSecret : null);

const sourceKeys = strictKeys(
  {
    file: z
      .string({ error: 'write the absolute path of a file' })
      .startsWith('/', { error: 'write the absolute path of the file, from /' })
      .optional(),
    command: listOf(
      z.string({ error: 'write a text' }).min(1, { error: 'a word of a command is not empty' }),
      '["pass", "show", "my-api"] (there is no shell)',
    ).optional(),
    ttl_seconds: wholeNumber(0, 86_400).optional(),
    env: z
      .string({ error: 'write the name of a variable' })
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'write the name of a variable such as MY_API_KEY' })
      .optional(),
    i_accept_environment: z.literal(true, { error: 'write true, or use another source' }).optional(),
  },
  literalProblem,
);

const environmentProblem =
  'an environment variable is seen by every child process and in /proc: use a file or a command, or accept it with `i_accept_environment: true`';

/** Where the value of a credential comes from. */
export const source = z
  .preprocess((value, context) => {
    if (typeof value !== 'string') return value;
    context.addIssue({ code: 'custom', message: literalSecret });
    return z.NEVER;
  }, sourceKeys)
  .transform((source, context): Exclude<SourceSpec, GithubAppSpec> => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const kinds = (['file', 'command', 'env'] as const).filter((kind) => source[kind] !== undefined);
    if (kinds.length !== 1)
      return refuse(`one source, not ${kinds.length === 0 ? 'none' : kinds.join(' and ')}: ${sourceForms}`);
    if (source.ttl_seconds !== undefined && !source.command) return refuse('`ttl_seconds` goes with `command` only');
    if (source.i_accept_environment && !source.env) return refuse('`i_accept_environment` goes with `env` only');
    if (source.file !== undefined) return { kind: 'file', path: source.file };
    if (source.command) return { kind: 'command', argv: source.command, ttlSeconds: source.ttl_seconds ?? 300 };
    if (!source.i_accept_environment) return refuse(environmentProblem);
    return { kind: 'environment', variable: source.env! };
  });

// A companion is visible configuration; one of these would be a credential in the file.
const authHeaders = /^(authorization|cookie|x-api-key|api-key|x-goog-api-key|private-token|x-auth-token)$/i;

const companionName = textRead<string>((text) => {
  if (authHeaders.test(text)) return { problem: 'this field carries a credential: give it a `source` instead' };
  const name = headerName.safeParse(text);
  return name.success ? { value: text } : { problem: name.error.issues[0]!.message };
}, 'a header name');

export const companions = z.record(companionName, headerText, {
  error: 'write a map of header names and values such as {OpenAI-Organization: org-example}',
});

/** A credential whose hosts and form a preset knows. */
export const presetCredential = strictKeys(
  {
    source: source.optional(),
    /** Read by github-app-schema.ts. */
    app: z.unknown().optional(),
    companions: companions.optional(),
    anonymous: yesOrNo.optional(),
  },
  (key) =>
    literalProblem(key) ??
    (['hosts', 'inject', 'paths'].includes(key)
      ? `the preset of this name brings its own \`${key}\`: give a credential of your own another name`
      : null),
);

/** A credential of the user's own. */
export const ownCredential = strictKeys(
  {
    hosts: oneOrMany(hostPattern),
    paths: listOf(pathPattern, '["/v1/**"]').optional(),
    inject: injection,
    anonymous: yesOrNo.optional(),
    companions: companions.optional(),
    source: source.optional(),
  },
  literalProblem,
);

/** A preset of `config/presets.yaml`: rules in the same syntax, and the credentials that go with them. */
export const presetDocument = strictKeys({
  about: z.string(),
  packages: z.string().optional(),
  git_hosts: z.array(hostName).optional(),
  allow: z.array(allowRule).optional(),
  credentials: z
    .record(
      z.string(),
      strictKeys({
        places: z.array(
          strictKeys({ hosts: oneOrMany(hostPattern), paths: z.array(pathPattern).optional(), inject: injection }),
        ),
        strip: strictKeys({
          headers: z.array(headerName).optional(),
          query: z.array(z.string()).optional(),
        }),
        defaults: companions.optional(),
        anonymous: yesOrNo,
      }),
    )
    .optional(),
});

export type PresetDocument = z.output<typeof presetDocument>;
