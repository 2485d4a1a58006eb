// Where people already have credentials, by the name that the presets give them: variables, and files of agents and tools in
// which a key or a login stands. Says what to look for and how to tell that it is there; never hands out a value.
import { parse } from 'yaml';

/** What a file must hold so that it counts. The text is looked at and forgotten. */
export interface CredentialFile {
  /** Below the home. */
  readonly path: string;
  readonly what: string;
  /** The source that stands for it in the configuration; null: `sallyport run` finds it by itself, and nothing else does. */
  readonly source: string | null;
  /** The program that the source runs: without it, it is none. */
  readonly program?: string;
  /** May throw when the text is not what it should be: then it does not count. */
  holds(text: string): boolean;
}

export interface KnownCredential {
  readonly name: string;
  readonly preset: string;
  /** Its host talks with a model: an agent without a provider of its own can use it. */
  readonly isModel: boolean;
  readonly variables: readonly string[];
  /** Keys before logins: a key costs nobody anything when somebody else renews it. */
  readonly files: readonly CredentialFile[];
}

const opencodePath = '.local/share/opencode/auth.json';
export const ghHostsPath = '.config/gh/hosts.yml';

export const knownCredentials: readonly KnownCredential[] = [
  {
    ...model('anthropic', 'anthropic', ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN']),
    files: [
      keyFile('.claude.json', 'key of Claude Code', (value) => isText(member(value, 'primaryApiKey'))),
      opencodeKey('anthropic'),
      login('claude', '.claude/.credentials.json', 'login of Claude Code', (value) =>
        hasToken(member(value, 'claudeAiOauth'), 'accessToken', 'refreshToken'),
      ),
      opencodeLogin('anthropic'),
    ],
  },
  {
    ...model('openai', 'openai', ['OPENAI_API_KEY', 'CODEX_API_KEY']),
    files: [
      keyFile('.codex/auth.json', 'key of Codex', (value) => isText(member(value, 'OPENAI_API_KEY'))),
      opencodeKey('openai'),
    ],
  },
  {
    ...model('chatgpt', 'openai', []),
    files: [
      login('codex', '.codex/auth.json', 'ChatGPT login of Codex', (value) => {
        const mode = member(value, 'auth_mode');
        // With a key in force the tokens beside it are what is left of a login.
        if (typeof mode === 'string' && !mode.startsWith('chatgpt')) return false;
        return hasToken(member(value, 'tokens'), 'access_token', 'refresh_token');
      }),
      opencodeLogin('openai'),
    ],
  },
  {
    ...model('google', 'google', ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY']),
    files: [
      {
        path: '.gemini/.env',
        what: 'key of Gemini CLI',
        source: null,
        holds: (text) => /^[ \t]*(?:export[ \t]+)?GEMINI_API_KEY[ \t]*=[ \t]*["'`]?[^\s"'`#]/m.test(text),
      },
      opencodeKey('google'),
    ],
  },
  {
    ...model('gemini', 'google', []),
    files: [
      login('gemini', '.gemini/oauth_creds.json', 'Google login of Gemini CLI', (value) =>
        hasToken(value, 'access_token', 'refresh_token'),
      ),
    ],
  },
  {
    ...other('github', 'github', ['GH_TOKEN', 'GITHUB_TOKEN']),
    files: [
      {
        path: ghHostsPath,
        what: 'login of gh',
        source: '{ command: [gh, auth, token], ttl_seconds: 300 }',
        program: 'gh',
        holds: (text) => ghHosts(text).includes('github.com'),
      },
    ],
  },
  { ...other('gitlab', 'gitlab', ['GITLAB_TOKEN']), files: [opencodeKey('gitlab'), opencodeLogin('gitlab')] },
  { ...other('huggingface', 'huggingface', ['HF_TOKEN']), files: [opencodeKey('huggingface')] },
  { ...model('mistral', 'mistral', ['MISTRAL_API_KEY']), files: [opencodeKey('mistral')] },
  { ...model('groq', 'groq', ['GROQ_API_KEY']), files: [opencodeKey('groq')] },
  { ...model('xai', 'xai', ['XAI_API_KEY']), files: [opencodeKey('xai'), opencodeLogin('xai')] },
  { ...model('openrouter', 'openrouter', ['OPENROUTER_API_KEY']), files: [opencodeKey('openrouter')] },
  { ...model('deepseek', 'deepseek', ['DEEPSEEK_API_KEY']), files: [opencodeKey('deepseek')] },
  { ...model('perplexity', 'perplexity', ['PERPLEXITY_API_KEY']), files: [opencodeKey('perplexity')] },
  { ...model('cohere', 'cohere', ['COHERE_API_KEY', 'CO_API_KEY']), files: [opencodeKey('cohere')] },
  { ...model('copilot', 'copilot', []), files: [opencodeLogin('github-copilot')] },
  { ...other('tavily', 'tavily', ['TAVILY_API_KEY']), files: [] },
  {
    ...other('aws', 'bedrock', []),
    files: [
      {
        path: '.aws/credentials',
        what: 'keys of the AWS profile default',
        source: '{ aws_profile: default }',
        holds: (text) => /^\s*\[\s*default\s*\][^[]*^\s*aws_access_key_id\s*=\s*\S/m.test(text),
      },
    ],
  },
];

/** The hosts at which gh is logged in. */
export function ghHosts(text: string): readonly string[] {
  // A warning of the reader quotes the line it is about, and a token stands there.
  const hosts: unknown = parse(text, { logLevel: 'error' });
  return isMap(hosts) ? Object.keys(hosts).filter((host) => isMap(hosts[host])) : [];
}

type Named = Omit<KnownCredential, 'files'>;

function model(name: string, preset: string, variables: readonly string[]): Named {
  return { name, preset, isModel: true, variables };
}

function other(name: string, preset: string, variables: readonly string[]): Named {
  return { name, preset, isModel: false, variables };
}

function keyFile(path: string, what: string, holds: (value: unknown) => boolean): CredentialFile {
  return { path, what, source: null, holds: (text) => holds(JSON.parse(text)) };
}

function login(agent: string, path: string, what: string, holds: (value: unknown) => boolean): CredentialFile {
  return { path, what, source: `{ login: ${agent} }`, holds: (text) => holds(JSON.parse(text)) };
}

function opencodeKey(provider: string): CredentialFile {
  return keyFile(opencodePath, `key of opencode (${provider})`, (value) => {
    const entry = member(value, provider);
    return member(entry, 'type') === 'api' && isText(member(entry, 'key'));
  });
}

function opencodeLogin(provider: string): CredentialFile {
  return {
    ...keyFile(opencodePath, `login of opencode (${provider})`, (value) => {
      const entry = member(value, provider);
      // A company's own instance is another host, which its token is for.
      if (member(entry, 'type') !== 'oauth' || isText(member(entry, 'enterpriseUrl'))) return false;
      return hasToken(entry, 'access', 'refresh');
    }),
    source: `{ login: { agent: opencode, provider: ${provider} } }`,
  };
}

function hasToken(entry: unknown, ...members: readonly string[]): boolean {
  return members.some((name) => isText(member(entry, name)));
}

function member(value: unknown, key: string): unknown {
  return isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}
