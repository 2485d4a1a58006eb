// Files that make agents in a fresh home start to work at once, with placeholders for their key or login: no questions about
// themes or trust, no hunt for updates. Nothing in them is secret, and nothing comes from the user's own
// files but the name and address that commits carry. Whoever writes them leaves what is already there alone.
import { type LoginStubOptions, loginStubs, opencodeLogins } from './login-stubs.ts';
import { placeholderVariables } from './placeholders.ts';

export interface AgentStub {
  /** Below the home, without a slash at the front. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

export interface GitIdentity {
  readonly name: string | null;
  readonly email: string | null;
}

export interface AgentStubOptions {
  /** As the sandbox sees it. Agents trust it without asking: what a repository can do, it does in a sandbox. */
  readonly workingDirectory: string;
  /** What `placeholderVariables` gave for this sandbox. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** What it may use, and which of that is a login where it could be a key; absent: nothing is a login. */
  readonly credentials?: ReadonlySet<string>;
  readonly logins?: ReadonlySet<string>;
  /** `user.name` and `user.email` of the user; null: git in the sandbox has to be told. */
  readonly gitIdentity?: GitIdentity | null;
}

/**
 * Variables for every sandbox. Updates could only fail, since programs are read-only there. Telemetry is left to what the
 * user chose, where its switch would turn off more than that.
 */
export const quietAgents: Readonly<Record<string, string>> = {
  DISABLE_AUTOUPDATER: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  NO_UPDATE_NOTIFIER: '1',
  // Claude asks it before it lets root go on without questions.
  IS_SANDBOX: '1',
};

/** To be written where the file does not exist: a home that is kept has what its agents made of them. */
export function agentStubs(options: AgentStubOptions): readonly AgentStub[] {
  const { placeholders, workingDirectory, credentials = new Set(), logins = new Set() } = options;
  const login = { credentials, logins, nowMs: Date.now() };
  const files = loginStubs(login).map(({ path, content }) => json(path, content));
  return [
    ...files,
    json('.claude.json', claudeState(workingDirectory)),
    stub('.codex/config.toml', codexConfig(workingDirectory)),
    // One file holds either: the login goes first, as it does outside.
    ...whereSet(credentials.has('chatgpt') ? undefined : placeholders.OPENAI_API_KEY, (key) =>
      json('.codex/auth.json', { auth_mode: 'apikey', OPENAI_API_KEY: key }),
    ),
    json('.gemini/settings.json', geminiSettings(credentials.has('gemini'))),
    json('.gemini/trustedFolders.json', { [workingDirectory]: 'TRUST_FOLDER' }),
    ...opencodeAuth(placeholders, login),
    ...gitconfig(options.gitIdentity ?? { name: null, email: null }),
  ];
}

/** Approved even where the credential is not set: a home that is kept may get it later. */
function claudeState(workingDirectory: string): object {
  // Claude remembers its answer about a key in the environment by the last twenty characters.
  const approved = Object.values(placeholderVariables(new Set(['anthropic']))).map((key) => key.slice(-20));
  return {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved, rejected: [] },
    projects: { [workingDirectory]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
}

function codexConfig(workingDirectory: string): string {
  return [
    'check_for_update_on_startup = false',
    '',
    // With an API key both go to a host that the key is not for. Where that is refused, codex waits ten seconds for it.
    '[features]',
    'api_key_model_discovery = false',
    '',
    '[analytics]',
    'enabled = false',
    '',
    // Codex runs commands in a sandbox of its own, in ours: what they may reach is for the door to say.
    '[sandbox_workspace_write]',
    'network_access = true',
    '',
    `[projects.${tomlString(workingDirectory)}]`,
    'trust_level = "trusted"',
    '',
  ].join('\n');
}

function geminiSettings(login: boolean): object {
  return {
    security: { auth: { selectedType: login ? 'oauth-personal' : 'gemini-api-key' } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    // They go to a host that neither a key nor a login needs.
    privacy: { usageStatisticsEnabled: false },
  };
}

/** By opencode's name for the provider, the variable whose placeholder it gets. */
const opencodeProviders: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GEMINI_API_KEY',
  mistral: 'MISTRAL_API_KEY',
  groq: 'GROQ_API_KEY',
  xai: 'XAI_API_KEY',
  openrouter: 'OPENROUTER_API_KEY',
  deepseek: 'DEEPSEEK_API_KEY',
  perplexity: 'PERPLEXITY_API_KEY',
  cohere: 'COHERE_API_KEY',
};

function opencodeAuth(placeholders: Readonly<Record<string, string>>, login: LoginStubOptions): AgentStub[] {
  const keys = Object.entries(opencodeProviders).flatMap(([provider, variable]) =>
    whereSet(placeholders[variable], (key) => [provider, { type: 'api', key }] as const),
  );
  const entries = { ...Object.fromEntries(keys), ...opencodeLogins(login) };
  return Object.keys(entries).length === 0 ? [] : [json('.local/share/opencode/auth.json', entries)];
}

function gitconfig({ name, email }: GitIdentity): AgentStub[] {
  const lines = [
    ...whereSet(name ?? undefined, (text) => `\tname = ${gitString(text)}\n`),
    ...whereSet(email ?? undefined, (text) => `\temail = ${gitString(text)}\n`),
  ];
  return lines.length === 0 ? [] : [stub('.gitconfig', `[user]\n${lines.join('')}`)];
}

function json(path: string, value: object): AgentStub {
  return stub(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Agents make these files private, and some complain about others. */
function stub(path: string, text: string): AgentStub {
  return { path, text, mode: 0o600 };
}

function whereSet<T, R>(value: T | undefined, make: (value: T) => R): R[] {
  return value === undefined ? [] : [make(value)];
}

/** JSON's escapes are TOML's, but TOML wants DEL escaped too. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

/** On one line and between quotes, so that a name cannot begin another setting. */
function gitString(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ');
  return `"${line.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
