// The shape of the policy document, section by section, with the sentence for each thing that can be wrong. Small
// texts (hosts, paths, addresses) are read into their compiled form on the way. Never reads a file.
import * as z from 'zod';
import { sandboxProxyPort } from '../../kit/namespace-handles.ts';
import { providerEffects } from '../../path/provider-effects.ts';
import type { HostPattern } from '../compiled.ts';
import { anyHost, parseHostName, parseHostPattern } from '../host-pattern.ts';
import { parsePathPattern } from '../path-pattern.ts';
import { didYouMean } from './closest-word.ts';
import type { Parsed } from './parsed.ts';

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

export function listOf<T extends z.ZodType>(item: T, example: string) {
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
export const pathPattern = textRead(parsePathPattern, 'a path pattern such as "/v1/**"');

const method = textRead<string>((text) => {
  if (text === 'CONNECT') return { problem: 'CONNECT is how clients reach the door, not a method to allow' };
  if (!token.test(text) || text.length > 32) return { problem: 'this is not a method: write one such as GET' };
  return text === text.toUpperCase() ? { value: text } : { problem: `methods are upper case: ${text.toUpperCase()}` };
}, 'a method such as GET');

export const methodName = method;

/** Where a person is asked, `*` may stand for every host, for what no other entry covers. */
const allowedHost = textRead<HostPattern>(
  (text) => (text === anyHost.text ? { value: anyHost } : parseHostPattern(text)),
  'a host name such as api.example.com or "*.example.com"',
);

const effects = listOf(
  z.enum(providerEffects, { error: `write ${providerEffects.join(' or ')}` }),
  `[${providerEffects[0]}]`,
);

const ruleKeys = strictKeys({
  host: oneOrMany(allowedHost),
  methods: listOf(method, '[GET, POST]').optional(),
  paths: listOf(pathPattern, '["/v1/**"]').optional(),
  ports: listOf(wholeNumber(1, 65535), '[443]').optional(),
  plain_http: yesOrNo.optional(),
  tunnel: yesOrNo.optional(),
  conversation: yesOrNo.optional(),
  ask: yesOrNo.optional(),
  effects: effects.optional(),
  tcp: listOf(wholeNumber(1, 65535), '[6379]').optional(),
});

/** Ports on which a plain connection would be a way around what is read there, or never comes to be one. */
const neverPlain: ReadonlyMap<number, string> = new Map([
  [
    443,
    'port 443 is TLS, which is decrypted and judged: leave `tcp` out, or write `tunnel: true` for pinned certificates',
  ],
  [80, 'port 80 is plain http, which is read and judged: write `plain_http: true` in place of `tcp`'],
  [53, 'port 53 is DNS, which the door answers itself: leave it out'],
  [sandboxProxyPort, `port ${sandboxProxyPort} is that of the proxy in every sandbox: leave it out`],
]);

/** One entry of `allow` that names hosts itself. */
export const allowRule = ruleKeys.superRefine((rule, context) => {
  const isAny = rule.host.some(({ text }) => text === anyHost.text);
  if (rule.tcp !== undefined) {
    checkPlain(rule, isAny, context);
    return;
  }
  if (isAny && rule.tunnel) {
    const message = 'what goes to any host must be decrypted to be asked about: remove `tunnel`, or name the hosts';
    context.addIssue({ code: 'custom', path: ['tunnel'], message });
  }
  if (isAny && rule.ask !== true) {
    const message = '`*` would allow the whole internet: name the hosts, or add `ask: true`, so that a person is asked';
    context.addIssue({ code: 'custom', path: ['host'], message });
  }
  if (!rule.tunnel) return;
  for (const key of ['methods', 'paths', 'plain_http', 'conversation', 'effects'] as const) {
    if (rule[key] === undefined || rule[key] === false) continue;
    const message = `a tunnel is not decrypted, so \`${key}\` cannot be checked: remove it or \`tunnel\``;
    context.addIssue({ code: 'custom', path: [key], message });
  }
});

function checkPlain(rule: z.output<typeof ruleKeys>, isAny: boolean, context: z.RefinementCtx): void {
  const refuse = (path: (string | number)[], message: string): void =>
    context.addIssue({ code: 'custom', path, message });
  if (isAny) refuse(['host'], 'a plain connection goes to hosts that have a name here: name them');
  for (const key of ['methods', 'paths', 'ports', 'plain_http', 'tunnel', 'conversation', 'ask', 'effects'] as const) {
    if (rule[key] === undefined || rule[key] === false) continue;
    refuse(
      [key],
      `a plain connection is not read, so \`${key}\` means nothing to it: write a separate entry for requests`,
    );
  }
  for (const [at, port] of (rule.tcp ?? []).entries()) {
    const why = neverPlain.get(port);
    if (why !== undefined) refuse(['tcp', at], why);
  }
}

export type AllowRuleDocument = z.output<typeof allowRule>;

/** One entry of `allow` that names a preset; whether it exists is the compiler's question. */
export const allowPreset = strictKeys(
  { preset: z.string({ error: 'write the name of a preset' }), effects: effects.optional() },
  (key) =>
    key in ruleKeys.shape ? `a preset brings its own \`${key}\`: write a separate entry with \`host\` for more` : null,
);

export type AllowPresetDocument = z.output<typeof allowPreset>;

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

export const headerText = z
  .string({ error: 'write a text' })
  .regex(printable, { error: 'a header value holds plain ASCII and no control characters' });

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
