// `app` of a credential: a GitHub App by its number, its private key by a source, never by its text. Enterprise hosts
// have an App of their own, and what GitHub takes its tokens in is known: nothing of that is for a person to write.
import * as z from 'zod';
import type { AppPermissions, GithubAppSpec, Placement } from '../compiled.ts';
import { exactHost } from '../host-pattern.ts';
import { parsePathPattern } from '../path-pattern.ts';
import type { PresetCredential } from './presets.ts';
import { companions, hostName, oneOrMany, strictKeys, wholeNumber, yesOrNo } from './schema.ts';
import { plainSource } from './source-schema.ts';

const keyForms =
  'a private key is never written into this file: write private_key: {file: /absolute/path.pem} or {command: [program, argument]}';

const literalNames = new Set(['key', 'pem', 'secret', 'privatekey', 'value', 'token']);

const privateKey = z.preprocess((value, context) => {
  if (typeof value !== 'string') return value;
  context.addIssue({ code: 'custom', message: keyForms });
  return z.NEVER;
}, plainSource);

const idProblem = 'write the App ID (a number) or the client ID of the App, as its settings page shows it';
const appId = z.union([z.int().positive(), z.string().regex(/^[A-Za-z0-9._-]{1,64}$/)], { error: idProblem });

const permissions = z.record(
  z.string().regex(/^[a-z][a-z_]{0,63}$/, { error: 'write the name of a permission such as pull_requests' }),
  z.enum(['read', 'write', 'admin'], { error: 'write read, write or admin' }),
  { error: 'write a map of permissions such as {contents: write, pull_requests: write}' },
);

const appKeys = strictKeys(
  {
    id: appId,
    private_key: privateKey,
    installation: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    permissions: permissions
      .refine((map) => Object.keys(map).length > 0, { error: 'name at least one permission, or leave the key out' })
      .optional(),
  },
  (key) => (literalNames.has(key.toLowerCase()) ? keyForms : null),
);

type AppDocument = z.output<typeof appKeys>;

export const githubApp: z.ZodType<AppDocument> = appKeys;

/** A credential of the user's own that is an App on an Enterprise host. */
export const ownAppCredential = strictKeys(
  {
    hosts: oneOrMany(hostName).refine((hosts) => hosts.length === 1, {
      error: 'an App belongs to one GitHub: write a credential for each host',
    }),
    app: z.unknown(),
    anonymous: yesOrNo.optional(),
    companions: companions.optional(),
  },
  (key) =>
    ['inject', 'paths'].includes(key)
      ? `GitHub knows one way to take the token of an App: leave \`${key}\` out`
      : key === 'source'
        ? 'an App makes its own tokens: keep `app` or `source`, not both'
        : null,
);

/** `host`: github.com, or an Enterprise host, which keeps its API under a path of its own. */
export function appSpecOf(app: AppDocument, host: string, usable: AppPermissions): GithubAppSpec {
  return {
    kind: 'github-app',
    appId: String(app.id),
    privateKey: app.private_key,
    installation: app.installation ?? null,
    permissions: app.permissions ?? null,
    usable,
    api: host === 'github.com' ? { host: 'api.github.com', prefix: '' } : { host, prefix: '/api/v3' },
  };
}

/** Where the token goes on an Enterprise host: the API, and git as on github.com. */
export function enterprisePlacements(host: string, github: PresetCredential): Placement[] {
  const hosts = [exactHost(host)];
  const paths = ['/api/v3/**', '/api/uploads/**', '/api/graphql'].map(pathPattern);
  const git = github.placements.filter(({ injection }) => injection.kind === 'basic');
  return [
    { hosts, paths, injection: { kind: 'header', header: 'Authorization', prefix: 'Bearer ' } },
    ...git.map((placement) => ({ ...placement, hosts })),
  ];
}

function pathPattern(text: string) {
  const parsed = parsePathPattern(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}
