// What of a user's own settings makes a session feel like home, agent by agent: a list of names, and nothing that is not on it.
// Logins, histories, transcripts and caches are not.

export interface SettingsFile {
  /** Below the root. */
  readonly name: string;
  readonly kind: 'json' | 'toml' | 'text';
  /** Of a file that also holds an agent's state: the keys that are settings. */
  readonly keys?: readonly string[];
}

export interface SettingsPlace {
  readonly agent: string;
  /** Below the home; empty: the home itself. */
  readonly root: string;
  /** The variable by which the user keeps it elsewhere. */
  readonly variable?: string;
  readonly files: readonly SettingsFile[];
  /** Folders of texts: commands, skills, agents. */
  readonly folders: readonly string[];
}

export const settingsPlaces: readonly SettingsPlace[] = [
  {
    agent: 'claude',
    root: '.claude',
    variable: 'CLAUDE_CONFIG_DIR',
    files: [
      { name: 'settings.json', kind: 'json' },
      { name: 'keybindings.json', kind: 'json' },
      { name: 'CLAUDE.md', kind: 'text' },
    ],
    folders: ['commands', 'skills', 'agents', 'output-styles', 'rules', 'hooks'],
  },
  {
    agent: 'claude',
    root: '',
    files: [{ name: '.claude.json', kind: 'json', keys: ['mcpServers', 'theme', 'editorMode', 'verbose'] }],
    folders: [],
  },
  {
    agent: 'codex',
    root: '.codex',
    variable: 'CODEX_HOME',
    files: [
      { name: 'config.toml', kind: 'toml' },
      { name: 'AGENTS.md', kind: 'text' },
    ],
    folders: ['prompts', 'skills', 'rules'],
  },
  {
    agent: 'gemini',
    root: '.gemini',
    files: [
      { name: 'settings.json', kind: 'json' },
      { name: 'GEMINI.md', kind: 'text' },
    ],
    folders: ['commands', 'skills', 'agents'],
  },
  {
    agent: 'opencode',
    root: '.config/opencode',
    files: [
      { name: 'opencode.json', kind: 'json' },
      { name: 'opencode.jsonc', kind: 'json' },
      { name: 'AGENTS.md', kind: 'text' },
    ],
    folders: ['command', 'commands', 'agent', 'agents', 'mode', 'skill', 'skills', 'themes', 'plugin', 'plugins'],
  },
];

/** Where logins lie. Never copied; what is in them is looked for in everything that is. */
export const loginFiles: readonly string[] = [
  '.claude/.credentials.json',
  '.codex/auth.json',
  '.gemini/oauth_creds.json',
  '.gemini/.env',
  '.local/share/opencode/auth.json',
  '.config/gh/hosts.yml',
  '.netrc',
  '.npmrc',
  '.git-credentials',
  '.aws/credentials',
  '.docker/config.json',
];
