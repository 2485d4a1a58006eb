// The agents whose logins can be used: where each keeps it, which public OAuth client it was given to, and what the client
// sends to renew it. The values are those of the agents themselves (claude 2.1, codex 0.166, gemini 0.61, opencode 1.18).
import { join } from 'node:path';
import type { LoginAgent, LoginSpec } from '../../../policy/compiled.ts';
import { SourceError } from '../sources/secret-source.ts';
import { claudeLocks, gatewayLocks, type LoginFileOptions } from './login-file.ts';
import {
  claudeFormat,
  codexFormat,
  geminiFormat,
  type LoginFormat,
  opencodeFormat,
  opencodeStaticFormat,
} from './login-formats.ts';
import type { Login } from './login-keep.ts';
import { fixedSource } from './oauth-fixed-source.ts';
import type { TokenClient } from './oauth-grant.ts';

/** A login that can be opened. */
export interface KnownLogin {
  readonly file: LoginFileOptions;
  /** Null: it is never renewed. */
  readonly client: TokenClient | null;
}

/** One entry of opencode's file: which credential it is good for, and how it is renewed. */
interface OpencodeProvider {
  readonly credential: string;
  readonly client: TokenClient | null;
  readonly format: LoginFormat;
}

const claudeId = '9d1c250a-e61b-44d9-88ed-5944d1962f5e';
const claudeClient = publicClient('platform.claude.com', '/v1/oauth/token', 'json', claudeId, ({ scope }) => [
  // What claude asks for when it does not know what it was granted.
  ['scope', scope ?? 'user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload'],
]);
const gitlabId = '1d89f9fdb23ee96d4e603201f6861dab6e143c5c3c00469a018a2d94bdc03d4e';
const codexId = 'app_EMoamEEZ73f0CkXaXp7hrann';
const codexClient = publicClient('auth.openai.com', '/oauth/token', 'json', codexId, () => [
  ['refresh_reason', 'scheduled'],
]);
/** An installed application cannot keep a secret, and this one is published with its source: it proves nothing. */
const geminiClient: TokenClient = {
  ...publicClient(
    'oauth2.googleapis.com',
    '/token',
    'form',
    '681255809395-oo8ft2oprdrnp9e3aqf6av3hmdib135j.apps.googleusercontent.com',
  ),
  clientAuth: 'post',
  clientSecret: fixedSource('gemini client', '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'),
};

const opencodeProviders: ReadonlyMap<string, OpencodeProvider> = new Map(
  Object.entries({
    anthropic: { credential: 'anthropic', client: claudeClient, format: opencodeFormat('anthropic') },
    openai: {
      credential: 'chatgpt',
      client: publicClient('auth.openai.com', '/oauth/token', 'form', codexId),
      format: opencodeFormat('openai'),
    },
    'github-copilot': {
      credential: 'copilot',
      client: null,
      format: opencodeStaticFormat('github-copilot', 'refresh'),
    },
    xai: {
      credential: 'xai',
      client: publicClient('auth.x.ai', '/oauth2/token', 'form', 'b1a00492-073a-47ea-816f-4c329264a828'),
      format: opencodeFormat('xai'),
    },
    gitlab: {
      credential: 'gitlab',
      client: publicClient('gitlab.com', '/oauth/token', 'form', gitlabId),
      format: opencodeFormat('gitlab', 'https://gitlab.com'),
    },
    poe: { credential: 'poe', client: null, format: opencodeStaticFormat('poe', 'access') },
  }),
);

const opencodePath = '.local/share/opencode/auth.json';

interface AgentPlace {
  readonly path: string;
  readonly format: LoginFormat;
  readonly client: TokenClient;
  readonly again: string;
}

const agents: Readonly<Record<Exclude<LoginAgent, 'opencode'>, AgentPlace>> = {
  claude: {
    path: '.claude/.credentials.json',
    format: claudeFormat,
    client: claudeClient,
    again: 'run `claude auth login`',
  },
  codex: { path: '.codex/auth.json', format: codexFormat, client: codexClient, again: 'run `codex login`' },
  gemini: {
    path: '.gemini/oauth_creds.json',
    format: geminiFormat,
    client: geminiClient,
    again: 'run `gemini` and sign in again',
  },
};

/** Where to look for a login for a credential when nobody has said so, in this order; `words` are for people. */
export const userLogins: ReadonlyMap<string, readonly (LoginSpec & { readonly words: string })[]> = new Map(
  Object.entries({
    anthropic: [userLogin('claude', null, 'Claude login'), userLogin('opencode', 'anthropic', 'Claude login')],
    chatgpt: [userLogin('codex', null, 'ChatGPT login'), userLogin('opencode', 'openai', 'ChatGPT login')],
    gemini: [userLogin('gemini', null, 'Google login')],
    copilot: [userLogin('opencode', 'github-copilot', 'GitHub Copilot login')],
    xai: [userLogin('opencode', 'xai', 'SuperGrok login')],
    gitlab: [userLogin('opencode', 'gitlab', 'GitLab login')],
  }),
);

/** Throws SourceError: an entry of opencode's file that is not known. */
export function knownLogin(name: string, spec: LoginSpec, home: string): KnownLogin {
  if (spec.agent === 'opencode') {
    const provider = spec.provider ?? providerFor(name);
    const known = provider === null ? undefined : opencodeProviders.get(provider);
    if (provider === null || known === undefined) {
      const names = [...opencodeProviders.keys()].join(', ');
      throw new SourceError(`of opencode's logins these can be used: ${names}. Name one as \`provider\``);
    }
    const { client, format } = known;
    const again = `run \`opencode auth login\` (${provider})`;
    return { client, file: fileOf(name, spec, home, { path: opencodePath, format, again }) };
  }
  const agent = agents[spec.agent];
  return { client: agent.client, file: fileOf(name, spec, home, agent) };
}

function fileOf(
  name: string,
  { agent, path }: LoginSpec,
  home: string,
  { path: usual, format, again }: Pick<AgentPlace, 'path' | 'format' | 'again'>,
): LoginFileOptions {
  const locks = agent === 'claude' ? claudeLocks : gatewayLocks;
  return path === null
    ? { name, path: join(home, usual), shown: `~/${usual}`, within: home, format, again, locks }
    : { name, path, shown: path, within: null, format, again, locks };
}

function providerFor(credential: string): string | null {
  for (const [provider, known] of opencodeProviders) if (known.credential === credential) return provider;
  return opencodeProviders.has(credential) ? credential : null;
}

function userLogin(agent: LoginAgent, provider: string | null, words: string) {
  return { kind: 'login', agent, path: null, provider, words } as const;
}

function publicClient(
  host: string,
  target: string,
  body: TokenClient['body'],
  clientId: string,
  parameters: (login: Login) => readonly (readonly [string, string])[] = () => [],
): TokenClient {
  return {
    address: { host, port: 443, target },
    body,
    clientId,
    clientSecret: null,
    clientAuth: 'none',
    parameters,
  };
}
