// Looks through a folder that is let in for files that hold a credential, by name and where the name says too little by
// content, and for sockets, pipes and devices. Bounded in entries and time: says so when it did not see everything.
import { looksLikeGitFolder } from '../traps/git-modules.ts';
import type { FileKind, HostFiles } from './host-files.ts';
import { joined } from './path-relations.ts';

export interface SecretFile {
  readonly path: string;
  readonly kind: FileKind;
  readonly rule: string;
}

export interface SecretFileSearch {
  readonly found: readonly SecretFile[];
  /** The git folders in it, bare repositories too, without its own `.git`. */
  readonly repositories: readonly string[];
  /** Files named .git, which say where the repository of a worktree or a submodule is, without its own. */
  readonly pointers: readonly string[];
  /** False: the bound was reached before everything was seen. */
  readonly complete: boolean;
}

export interface SearchLimits {
  readonly maxEntries: number;
  readonly maxMs: number;
}

/** A tenth of a second at most: a sandbox is to start within 300 ms. */
const usualLimits: SearchLimits = { maxEntries: 30_000, maxMs: 100 };

/** Huge, and written by programs: what lies there came from a registry or a build. `.git` has a judge of its own. */
const skipped = new Set([
  'node_modules',
  '.git',
  '.hg',
  '.svn',
  '__pycache__',
  '.tox',
  '.venv',
  'venv',
  'target',
  '.cache',
]);

const maxReadBytes = 64 * 1024;

export function findSecretFiles(
  root: string,
  files: HostFiles,
  options: { readonly hideEnvFiles: boolean; readonly limits?: SearchLimits; readonly now?: () => number },
): SecretFileSearch {
  const { maxEntries, maxMs } = options.limits ?? usualLimits;
  const now = options.now ?? (() => performance.now());
  const deadline = now() + maxMs;
  const found: SecretFile[] = [];
  const repositories: string[] = [];
  const pointers: string[] = [];
  // Breadth first: what lies near the top is seen whatever the bound.
  const folders = [root];
  let seen = 0;
  for (const folder of folders) {
    if (seen > maxEntries || now() > deadline) return { found, repositories, pointers, complete: false };
    const entries = files.list(folder);
    if (looksLikeGitFolder(entries)) repositories.push(folder);
    for (const { name, kind } of entries) {
      seen++;
      const path = joined(folder, name);
      const rule = ruleFor(name, kind, folder, options.hideEnvFiles, () => files.readText(path, maxReadBytes) ?? '');
      if (rule !== null) found.push({ path, kind, rule });
      else if (kind === 'folder' && !skipped.has(name)) folders.push(path);
      else if (kind === 'folder' && name === '.git' && folder !== root) repositories.push(path);
      if (kind === 'file' && name === '.git' && folder !== root) pointers.push(path);
    }
  }
  return { found, repositories, pointers, complete: true };
}

function ruleFor(name: string, kind: FileKind, folder: string, env: boolean, text: () => string): string | null {
  // A link is no danger by itself: where it leads is only there if it was let in.
  if (kind === 'link') return null;
  if (kind === 'folder') return secretFolders.get(name) ?? null;
  if (kind !== 'file') return `a ${kind}, which leads to something on the host`;
  if (env && isEnvFile(name)) return 'an .env file';
  const always = secretNames.get(name);
  if (always !== undefined) return always;
  for (const { names, within, content, rule } of secretContents) {
    if (names.test(name) && (within === undefined || folder.endsWith(`/${within}`)) && content.test(text()))
      return rule;
  }
  return null;
}

/** Templates are made to be shared. */
function isEnvFile(name: string): boolean {
  return /^\.env(?:\..+)?$/.test(name) && !/\.(?:example|sample|template|dist|defaults?)$/.test(name);
}

const secretFolders = new Map([
  ['.ssh', 'ssh keys'],
  ['.gnupg', 'gpg keys'],
  ['.password-store', 'a password store'],
]);

const secretNames = new Map([
  ['.netrc', 'logins of curl and git'],
  ['_netrc', 'logins of curl and git'],
  ['.git-credentials', 'logins of git'],
  ['.pgpass', 'logins of PostgreSQL'],
  ['.mylogin.cnf', 'logins of MySQL'],
  ['.vault-token', 'a token of Vault'],
  ['.pypirc', 'logins of PyPI'],
  ['.dockercfg', 'logins of container registries'],
  ['credentials.tfrc.json', 'a token of Terraform'],
]);

interface ContentRule {
  readonly names: RegExp;
  /** Only in a folder of this name. */
  readonly within?: string;
  readonly content: RegExp;
  readonly rule: string;
}

/** A value that begins with `$` is the name of a variable and not the credential. */
const secretContents: readonly ContentRule[] = [
  {
    names: /^\.npmrc$/,
    content: /_(?:authToken|auth|password)\s*=\s*["']?[^\s"'$]/,
    rule: 'a token for an npm registry',
  },
  {
    names: /^\.yarnrc\.yml$/,
    content: /npmAuth(?:Token|Ident)\s*:\s*["']?[^\s"'$]/,
    rule: 'a token for an npm registry',
  },
  {
    names: /^(?:pip\.conf|pip\.ini|uv\.toml|poetry\.toml|\.condarc)$/,
    content: /:\/\/[^\s/@:]+:[^\s/@$]+@/,
    rule: 'a password in an address',
  },
  {
    names: /^auth\.json$/,
    content: /"(?:http-basic|github-oauth|gitlab-token|bearer|auths)"/,
    rule: 'logins of a package manager',
  },
  {
    names: /^config\.json$/,
    within: '.docker',
    content: /"auth(?:s|config)?"\s*:/,
    rule: 'logins of container registries',
  },
  {
    names: /^(?:config|credentials)$/,
    within: '.aws',
    content: /aws_(?:secret_access_key|session_token)\s*=/,
    rule: 'keys of AWS',
  },
  {
    names: /^config$/,
    within: '.kube',
    content: /(?:token|client-key-data|password)\s*:/,
    rule: 'the login of a cluster',
  },
  { names: /^credentials(?:\.toml)?$/, within: '.cargo', content: /token\s*=/, rule: 'a token for a crate registry' },
  { names: /^nuget\.config$/i, content: /ClearTextPassword|"Password"/, rule: 'a password for a NuGet feed' },
  { names: /^\.terraformrc$/, content: /token\s*=/, rule: 'a token of Terraform' },
  { names: /^\.(?:s3cfg|boto)$/, content: /secret_(?:access_)?key\s*=/, rule: 'keys of AWS' },
  { names: /^\.my\.cnf$/, content: /password\s*=/, rule: 'logins of MySQL' },
  {
    names: /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
    content: /-----BEGIN [A-Z ]*PRIVATE KEY/,
    rule: 'a private ssh key',
  },
  {
    names: /(?:service|account|credential|key|firebase|gcp)[^/]*\.json$/i,
    content: /"private_key"\s*:\s*"-----BEGIN/,
    rule: 'the key of a service account',
  },
];
