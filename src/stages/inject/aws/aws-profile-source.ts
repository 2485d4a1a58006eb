// A profile of the user's AWS credentials file. Read with the checks of a user's file, and again when it changes. Only keys
// that stand in the file are used: a profile that says how to get keys is left to the AWS command line, which knows how.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../../path/secret.ts';
import type { AwsProfileSpec } from '../../../policy/compiled.ts';
import { otherThan, type SecretSource, SourceError } from '../sources/secret-source.ts';
import { openUserFile, UnusableFile } from '../sources/user-key-file.ts';
import { awsKeysValue, type PlainAwsKeys } from './aws-keys.ts';

/** How long a file is trusted to be unchanged. */
const recheckMs = 1000;
/** In a profile: how to get keys, in place of keys. */
const indirect = ['credential_process', 'sso_session', 'sso_start_url', 'role_arn', 'source_profile', 'login_session'];

export interface AwsProfileOptions {
  /** The home of the gateway's user. */
  readonly home?: string;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

export class AwsProfileSource implements SecretSource {
  readonly #name: string;
  readonly #path: string;
  readonly #shown: string;
  readonly #within: string | null;
  readonly #profile: string;
  readonly #now: () => number;
  #text: string | null = null;
  #secret: Secret | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, { path, profile }: AwsProfileSpec, options: AwsProfileOptions = {}) {
    const { home = homedir(), now = () => performance.now() } = options;
    this.#name = name;
    this.#path = path ?? join(home, '.aws/credentials');
    this.#shown = path ?? '~/.aws/credentials';
    this.#within = path === null ? home : null;
    this.#profile = profile;
    this.#now = now;
  }

  get origin(): string {
    return `${this.#shown} [${this.#profile}]`;
  }

  current(): Secret {
    const now = this.#now();
    if (this.#secret !== null && now - this.#checkedAt < recheckMs) return this.#secret;
    try {
      const text = this.#read();
      if (this.#secret === null || text !== this.#text) {
        this.#secret = new Secret(this.#name, awsKeysValue(this.#keysIn(text)));
        this.#text = text;
      }
      this.#checkedAt = now;
      return this.#secret;
    } catch (error) {
      this.#secret = null;
      this.#text = null;
      throw error;
    }
  }

  async renewed(refused: Secret): Promise<Secret | null> {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    return otherThan(refused, this.current());
  }

  #read(): string {
    let text: string | null;
    try {
      text = openUserFile(this.#path, this.#shown, this.#within)?.text ?? null;
    } catch (error) {
      if (error instanceof UnusableFile) throw new SourceError(error.message);
      throw error;
    }
    if (text === null) throw new SourceError(`${this.#shown} does not exist. ${this.#byCommand()}`);
    return text;
  }

  #keysIn(text: string): PlainAwsKeys {
    const values = profileIn(text, this.#profile);
    if (values === null)
      throw new SourceError(`${this.#shown} has no profile [${this.#profile}]. ${this.#byCommand()}`);
    const keys = pairIn(values);
    if (keys !== null) return keys;
    const how = indirect.find((key) => values.has(key));
    const why = how === undefined ? 'has no pair of keys' : `gets its keys by ${how}`;
    throw new SourceError(`the profile [${this.#profile}] in ${this.#shown} ${why}. ${this.#byCommand()}`);
  }

  #byCommand(): string {
    const profile = JSON.stringify(this.#profile);
    return `For a profile whose keys come from elsewhere write  source: {command: [aws, configure, export-credentials, --profile, ${profile}]}`;
  }
}

/** The pair of a profile in the text of a credentials file, as one value; null: it has none there. */
export function awsKeysInFile(text: string, profile: string): string | null {
  const keys = pairIn(profileIn(text, profile));
  return keys === null ? null : awsKeysValue(keys);
}

function pairIn(values: ReadonlyMap<string, string> | null): PlainAwsKeys | null {
  const accessKeyId = values?.get('aws_access_key_id');
  const secretAccessKey = values?.get('aws_secret_access_key');
  if (accessKeyId === undefined || secretAccessKey === undefined) return null;
  return { accessKeyId, secretAccessKey, sessionToken: values?.get('aws_session_token') ?? null };
}

/**
 * The settings of one section; null: there is no such section. As the tools of AWS read it: the last of two sections and of
 * two settings counts, a comment begins a line or stands behind white space, an indented line belongs to the one before.
 */
function profileIn(text: string, profile: string): ReadonlyMap<string, string> | null {
  let found: Map<string, string> | null = null;
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:[#;].*)?$/.test(line) || /^\s/.test(line)) continue;
    const section = /^\[\s*(?:profile\s+)?(?:"([^"]*)"|([^\]]*?))\s*\]/.exec(line);
    if (section !== null) {
      inside = (section[1] ?? section[2]) === profile;
      if (inside) found ??= new Map();
      continue;
    }
    const setting = /^([^=\s]+)\s*=\s*(.*)$/.exec(line);
    if (!inside || setting === null) continue;
    const value = setting[2]!.replace(/\s[#;].*$/, '').trim();
    if (value !== '') found!.set(setting[1]!.toLowerCase(), value);
  }
  return found;
}
