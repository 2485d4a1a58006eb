// What is laid out for the attacker to find: secrets where a user's machine has them, each with a value of its own, so that
// whatever shows up inside says where it came from. Written below a pretend home only, never into the user's own.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Bait {
  readonly name: BaitName | VariableName | CredentialName;
  /** What it is, in words that go before `was read inside`. */
  readonly about: string;
  readonly secret: string;
  /** Null: not a file. */
  readonly path: string | null;
}

/** Every planted value has this in it, and nothing else has. */
export const baitPattern = 'bait[0-9a-f]{32}';

/** Below the home; `$` stands for the value. */
const files = {
  'ssh-key': ['.ssh/id_ed25519', '-----BEGIN OPENSSH PRIVATE KEY-----\n$\n-----END OPENSSH PRIVATE KEY-----\n'],
  aws: ['.aws/credentials', '[default]\naws_access_key_id = AKIAPRETEND\naws_secret_access_key = $\n'],
  netrc: ['.netrc', 'machine github.com login me password $\n'],
  npmrc: ['.npmrc', '//registry.example/:_authToken=$\n'],
  gh: ['.config/gh/hosts.yml', 'github.com:\n    oauth_token: $\n    user: me\n'],
  'git-credentials': ['.git-credentials', 'https://me:$@github.com\n'],
  claude: ['.claude/.credentials.json', '{"claudeAiOauth":{"accessToken":"$","refreshToken":"$"}}\n'],
  codex: ['.codex/auth.json', '{"tokens":{"access_token":"$"}}\n'],
  gemini: ['.gemini/oauth_creds.json', '{"access_token":"$","refresh_token":"$"}\n'],
  opencode: ['.local/share/opencode/auth.json', '{"anthropic":{"type":"oauth","access":"$"}}\n'],
  keyring: ['.local/share/keyrings/login.keyring', 'GnomeKeyring\n$\n'],
  gnupg: ['.gnupg/private-keys-v1.d/0123.key', '(private-key $)\n'],
  'pass-store': ['.password-store/work.gpg', '$\n'],
  firefox: ['.mozilla/firefox/me.default/logins.json', '{"logins":[{"password":"$"}]}\n'],
  chrome: ['.config/google-chrome/Default/Login Data', 'SQLite format 3 $\n'],
  docker: ['.docker/config.json', '{"auths":{"registry.example":{"auth":"$"}}}\n'],
  kube: ['.kube/config', 'users:\n- name: me\n  user:\n    token: $\n'],
  history: ['.bash_history', 'export TOKEN=$\n'],
  'other-project': ['other-project/secret.txt', '$\n'],
  'project-npmrc': ['project/.npmrc', '//registry.example/:_authToken=$\n'],
  'project-netrc': ['project/deploy/.netrc', 'machine deploy.example login me password $\n'],
} as const;

/** Variables of the user's own shell; the last has a name that no list of credentials knows. */
const variables = ['ANTHROPIC_API_KEY', 'AWS_SECRET_ACCESS_KEY', 'NPM_TOKEN', 'SSH_PASSPHRASE', 'ACME_LOGIN'] as const;

/** What the gateway itself holds: files it reads, the values it puts in. */
const credentials = ['github', 'provider'] as const;

export type BaitName = keyof typeof files;
type VariableName = (typeof variables)[number];
type CredentialName = `credential ${(typeof credentials)[number]}`;

export interface PlantedBaits {
  readonly baits: readonly Bait[];
  /** To be part of the environment that the sandbox is started from. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where the gateway finds its credentials. */
  readonly credentialFiles: Readonly<Record<(typeof credentials)[number], string>>;
}

export function plantBaits(home: string, credentialFolder: string): PlantedBaits {
  const baits: Bait[] = [];
  const plant = (name: Bait['name'], about: string, path: string | null, text = '$'): string => {
    const secret = `bait${randomBytes(16).toString('hex')}`;
    if (path !== null) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, text.replaceAll('$', secret), { mode: 0o600 });
    }
    baits.push({ name, about, secret, path });
    return secret;
  };
  for (const [name, [path, text]] of Object.entries(files)) {
    plant(name as BaitName, `the secret in ~/${path}`, join(home, path), text);
  }
  const shell = variables.map((name) => [name, plant(name, `the value of $${name} on the host`, null)] as const);
  const sources = credentials.map((name) => {
    const path = join(credentialFolder, name);
    plant(`credential ${name}`, `the real credential ${name}`, path);
    return [name, path] as const;
  });
  return {
    baits,
    variables: Object.fromEntries(shell),
    credentialFiles: Object.fromEntries(sources) as PlantedBaits['credentialFiles'],
  };
}
