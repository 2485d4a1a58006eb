// Where a user's own API keys are, by credential: variables that tools read, and files in which agents keep a key that
// was typed in. Logins that have to be renewed are elsewhere (login-agents.ts).
import { parse } from 'yaml';
import { awsKeysInFile } from '../aws/aws-profile-source.ts';

export interface UserKeyFile {
  /** Below the home. */
  readonly path: string;
  /** The key in its text; null: it holds none. May throw when the text is not what it should be. */
  find(text: string): string | null;
}

export interface UserKeyPlaces {
  /** In order: the first that is set counts. */
  readonly variables: readonly string[];
  /** Behind those: tokens of a login that is not renewed. */
  readonly loginVariables: readonly string[];
  readonly files: readonly UserKeyFile[];
}

/** Where gh notes who is logged in, and the token too where it has no keyring. */
export const ghHostsPath = '.config/gh/hosts.yml';

/** By credential, as the presets name them. */
export const userKeyPlaces: ReadonlyMap<string, UserKeyPlaces> = new Map(
  Object.entries({
    anthropic: {
      ...places(['ANTHROPIC_API_KEY'], json('.claude.json', 'primaryApiKey'), opencode('anthropic')),
      loginVariables: ['CLAUDE_CODE_OAUTH_TOKEN'],
    },
    openai: places(['OPENAI_API_KEY', 'CODEX_API_KEY'], json('.codex/auth.json', 'OPENAI_API_KEY'), opencode('openai')),
    google: places(
      ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
      dotenv('.gemini/.env', 'GEMINI_API_KEY'),
      opencode('google'),
    ),
    github: places(['GH_TOKEN', 'GITHUB_TOKEN'], { path: ghHostsPath, find: (text) => ghHost(text)?.token ?? null }),
    gitlab: places(['GITLAB_TOKEN'], opencode('gitlab')),
    huggingface: places(['HF_TOKEN'], opencode('huggingface')),
    mistral: places(['MISTRAL_API_KEY'], opencode('mistral')),
    groq: places(['GROQ_API_KEY'], opencode('groq')),
    xai: places(['XAI_API_KEY'], opencode('xai')),
    openrouter: places(['OPENROUTER_API_KEY'], opencode('openrouter')),
    deepseek: places(['DEEPSEEK_API_KEY'], opencode('deepseek')),
    perplexity: places(['PERPLEXITY_API_KEY'], opencode('perplexity')),
    aws: places([], { path: '.aws/credentials', find: (text) => awsKeysInFile(text, 'default') }),
    tavily: places(['TAVILY_API_KEY']),
    cohere: places(['COHERE_API_KEY', 'CO_API_KEY'], opencode('cohere')),
  }),
);

/** What gh says of github.com; null: nobody is logged in there. `token` null: it is in the keyring. */
export function ghHost(text: string): { readonly token: string | null } | null {
  // A warning of the reader quotes the line it is about, and the token stands there.
  const host = member(parse(text, { logLevel: 'error' }), 'github.com');
  return isMap(host) ? { token: textOf(member(host, 'oauth_token')) } : null;
}

function places(variables: readonly string[], ...files: UserKeyFile[]): UserKeyPlaces {
  return { variables, loginVariables: [], files };
}

function json(path: string, key: string): UserKeyFile {
  return { path, find: (text) => textOf(member(JSON.parse(text), key)) };
}

/** Its other entries are logins (`oauth`, see login-formats.ts) and pointers to other files (`wellknown`). */
function opencode(provider: string): UserKeyFile {
  return {
    path: '.local/share/opencode/auth.json',
    find: (text) => {
      const entry = member(JSON.parse(text), provider);
      return member(entry, 'type') === 'api' ? textOf(member(entry, 'key')) : null;
    },
  };
}

function dotenv(path: string, variable: string): UserKeyFile {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${variable}[ \\t]*=[ \\t]*(.*)$`, 'm');
  return { path, find: (text) => textOf(unquoted(line.exec(text)?.[1] ?? '')) };
}

/** As dotenv reads a value on one line: quotes are not part of it, nor is a comment behind it. */
function unquoted(value: string): string {
  const quoted = /^(["'`])(.*?)\1/.exec(value.trim());
  return quoted?.[2] ?? value.replace(/#.*$/, '').trim();
}

function member(value: unknown, key: string): unknown {
  return isMap(value) ? value[key] : undefined;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
