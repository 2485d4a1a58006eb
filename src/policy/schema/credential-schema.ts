// `credentials` of a document and of the presets: names, places and sources. Never a value.
import * as z from 'zod';
import { compileGlob } from '../../kit/text/glob.ts';
import { providerEffects } from '../../path/provider-effects.ts';
import type { HostPattern } from '../compiled.ts';
import { parseHostPattern } from '../host-pattern.ts';
import { injection } from './inject-schema.ts';
import { placeholderKeys } from './placeholder-schema.ts';
import {
  allowRule,
  companions,
  headerName,
  hostName,
  hostPattern,
  listOf,
  oneOrMany,
  pathPattern,
  strictKeys,
  textRead,
  yesOrNo,
} from './schema.ts';
import { literalProblem, plainSource, source } from './source-schema.ts';

/** A credential whose hosts and form a preset knows. */
export const presetCredential = strictKeys(
  {
    source: source.optional(),
    placeholder: placeholderKeys.optional(),
    /** Read by github-app-schema.ts. */
    app: z.unknown().optional(),
    companions: companions.optional(),
    anonymous: yesOrNo.optional(),
    add_paths: listOf(pathPattern, '["/v1/evals/**"]').optional(),
  },
  (key) =>
    literalProblem(key) ??
    (key === 'paths' ? 'the preset of this name brings its own list: write `add_paths` to add to it' : null) ??
    (['hosts', 'inject'].includes(key)
      ? `the preset of this name brings its own \`${key}\`: give a credential of your own another name`
      : null),
);

const clientCertificate = strictKeys({
  cert: z
    .string({ error: 'write the absolute path of a PEM file' })
    .startsWith('/', { error: 'write the absolute path of the file, from /' }),
  /** Checked as a source of its own, in its own place. */
  key: z.lazy(() => plainSource).optional(),
});

/** A credential of the user's own. */
export const ownCredential = strictKeys(
  {
    hosts: oneOrMany(hostPattern),
    paths: listOf(pathPattern, '["/v1/**"]').optional(),
    inject: injection.optional(),
    anonymous: yesOrNo.optional(),
    companions: companions.optional(),
    source: source.optional(),
    placeholder: placeholderKeys.optional(),
    client_certificate: clientCertificate.optional(),
  },
  literalProblem,
);

/** What goes with what: a credential goes out in a form, or is the key of a certificate, or both. */
export const wholeOwnCredential = ownCredential.superRefine((one, context) => {
  const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
  if (one.inject === undefined && one.client_certificate === undefined) {
    refuse('inject', 'write how it goes out: inject: {bearer: true}, or client_certificate: {cert: F, key: SOURCE}');
  } else if (one.inject === undefined && one.source !== undefined) {
    refuse(
      'source',
      'there is no `inject` that it could go into: the key of the certificate is client_certificate.key',
    );
  }
  if (one.inject?.kind === 'sigv4' && one.client_certificate !== undefined) {
    refuse('client_certificate', 'AWS asks for no certificate: leave it out');
  }
});

const tokenEndpoint = strictKeys({
  host: hostName,
  path: z.string().startsWith('/'),
  answers: z.enum(['claude', 'chatgpt', 'chatgpt-accounts', 'google', 'google-tokeninfo', 'generic']),
});

const loginDocument = strictKeys({
  agents: z.array(z.enum(['claude', 'codex', 'gemini', 'opencode'])),
  opencode: z.string().optional(),
  inject: injection.optional(),
  listed: z.record(headerName, z.string()).optional(),
  endpoints: z.array(tokenEndpoint).optional(),
});

/** Also with a wildcard within: names with a region in them. What is refused may be said wider than what is allowed. */
const effectHost = textRead<HostPattern>(
  (text) => (/.\*/.test(text) || /^\*[^.]/.test(text) ? { value: compileGlob(text) } : parseHostPattern(text)),
  'a host name',
);

/** A preset of `config/presets.yaml`: rules in the same syntax, and the credentials that go with them. */
export const presetDocument = strictKeys({
  about: z.string(),
  packages: z.string().optional(),
  git_hosts: z.array(hostName).optional(),
  allow: z.array(allowRule).optional(),
  effects: z
    .array(
      strictKeys({
        effect: z.enum(providerEffects),
        hosts: oneOrMany(effectHost),
        paths: z.array(pathPattern),
        from: z.string(),
        reading: yesOrNo.optional(),
      }),
    )
    .optional(),
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
        login: loginDocument.optional(),
      }),
    )
    .optional(),
});

export type PresetDocument = z.output<typeof presetDocument>;
