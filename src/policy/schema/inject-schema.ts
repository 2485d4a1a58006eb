// `inject` of a credential: the one form in which it goes out, and where.
import * as z from 'zod';
import type { HmacSignature, Injection } from '../compiled.ts';
import { isReflected } from '../reflected-headers.ts';
import { headerName, headerText, strictKeys, textRead } from './schema.ts';

/** By format, what its services prescribe. */
const webhooks: Readonly<Record<'slack' | 'stripe' | 'github', HmacSignature>> = {
  slack: { format: 'slack', algorithm: 'sha256', header: 'X-Slack-Signature', prefix: '' },
  stripe: { format: 'stripe', algorithm: 'sha256', header: 'Stripe-Signature', prefix: '' },
  github: { format: 'hex', algorithm: 'sha256', header: 'X-Hub-Signature-256', prefix: 'sha256=' },
};

const hmac = strictKeys({
  format: z.enum(['slack', 'stripe', 'github', 'hex', 'base64'], {
    error: 'write slack, stripe, github, hex or base64',
  }),
  header: headerName.optional(),
  algorithm: z.enum(['sha256', 'sha1', 'sha512'], { error: 'write sha256, sha1 or sha512' }).optional(),
  prefix: headerText.optional(),
}).transform((keys, context): HmacSignature => {
  const { format, header, algorithm, prefix } = keys;
  const refuse = (message: string): never => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (format === 'hex' || format === 'base64') {
    if (header === undefined)
      return refuse(`write which header the signature goes into: {format: ${format}, header: X-Signature}`);
    if (isReflected(header)) return refuse('upstreams commonly send this field back: use another');
    return { format, header, algorithm: algorithm ?? 'sha256', prefix: prefix ?? '' };
  }
  if (header !== undefined || algorithm !== undefined || prefix !== undefined) {
    return refuse(`the format ${format} says the rest itself: write {format: ${format}}, or hex with a header`);
  }
  return webhooks[format];
});

const place = '{credential}';

const pathPlace = textRead<string>((text) => {
  const parts = text.split(place);
  if (!text.startsWith('/') || parts.length !== 2 || /[?#%{}]/.test(parts.join(''))) {
    return { problem: `write a path with ${place} once in it, such as "/bot${place}/**"` };
  }
  return { value: text };
}, `true, or a path such as "/bot${place}/**"`);

const pointer = z
  .string({ error: 'write a pointer such as /auth/token' })
  .regex(/^(?:\/(?:[^~/]|~[01])+)+$/, { error: 'write a JSON pointer such as /auth/token' });

const formField = z
  .string({ error: 'write the name of a field' })
  .regex(/^[A-Za-z0-9_.~$[\]-]+$/, { error: 'write the plain name of a field such as client_secret' });

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
  sigv4: z.literal(true, { error: 'write `sigv4: true`' }).optional(),
  path: z
    .union([z.literal(true), pathPlace], {
      error: `write true, or a path with ${place} once in it such as "/bot${place}/**"`,
    })
    .optional(),
  json: pointer.optional(),
  form: formField.optional(),
  hmac: hmac.optional(),
});

export const injectionKinds = ['header', 'bearer', 'basic', 'query', 'path', 'json', 'form', 'hmac', 'sigv4'] as const;

/** How a credential goes out. */
export const injection = injectKeys.transform((inject, context): Injection => {
  const kinds = injectionKinds.filter((kind) => inject[kind] !== undefined);
  const refuse = (message: string): never => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (kinds.length !== 1) {
    return refuse(
      'write exactly one of header: NAME, bearer: true, basic: {username: NAME}, query: NAME, path: true, json: POINTER, form: FIELD, hmac: {format: NAME}, sigv4: true',
    );
  }
  if (inject.prefix !== undefined && inject.header === undefined) return refuse('`prefix` goes with `header` only');
  if (inject.header !== undefined && isReflected(inject.header)) {
    return refuse('upstreams commonly send this field back: a credential does not go there, use another');
  }
  if (inject.header !== undefined) return { kind: 'header', header: inject.header, prefix: inject.prefix ?? '' };
  if (inject.basic !== undefined) return { kind: 'basic', username: inject.basic.username };
  if (inject.query !== undefined) return { kind: 'query', parameter: inject.query };
  if (inject.sigv4 !== undefined) return { kind: 'sigv4' };
  if (inject.path !== undefined) return { kind: 'path', pattern: inject.path === true ? null : inject.path };
  if (inject.json !== undefined) {
    const parts = inject.json.slice(1).split('/');
    const read = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    return { kind: 'json', pointer: read, shown: inject.json };
  }
  if (inject.form !== undefined) return { kind: 'form', field: inject.form };
  if (inject.hmac !== undefined) return { kind: 'hmac', hmac: inject.hmac };
  return { kind: 'header', header: 'Authorization', prefix: 'Bearer ' };
});
