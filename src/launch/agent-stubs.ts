// Files that make agents in a fresh home start to work at once, with a placeholder as their API key: no login, no
// questions about themes or trust, no hunt for updates. Nothing in them is secret, and nothing comes from the user's own
// files but the name and address that commits carry. Whoever writes them leaves what is already there alone.
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
  const { placeholders, workingDirectory } = options;
  return [
    json('.claude.json', claudeState(workingDirectory)),
    stub('.codex/config.toml', codexConfig(workingDirectory)),
    ...whereSet(placeholders.OPENAI_API_KEY, (key) =>
      json('.codex/auth.json', { auth_mode: 'apikey', OPENAI_API_KEY: key }),
    ),
    json('.gemini/settings.json', geminiSettings),
    json('.gemini/trustedFolders.json', { [workingDirectory]: 'TRUST_FOLDER' }),
    ...opencodeAuth(placeholders),
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

const geminiSettings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  // They go to a host that an API key does not need.
  privacy: { usageStatisticsEnabled: false },
};

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

function opencodeAuth(placeholders: Readonly<Record<string, string>>): AgentStub[] {
  const entries = Object.entries(opencodeProviders).flatMap(([provider, variable]) =>
    whereSet(placeholders[variable], (key) => [provider, { type: 'api', key }] as const),
  );
  return entries.length === 0 ? [] : [json('.local/share/opencode/auth.json', Object.fromEntries(entries))];
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
