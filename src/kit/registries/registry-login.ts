// A login for a registry of packages or images, as the tools of a user keep them. What reads their files is here, and used twice: by
// the policy, which learns that there is one and for where, and by the source of the credential, which takes its value.

export const registryFamilies = ['npm', 'pip', 'cargo', 'maven', 'docker'] as const;

export type RegistryFamily = (typeof registryFamilies)[number];

export interface RegistryPlace {
  readonly host: string;
  /** Of the registry, with a slash at both ends. */
  readonly path: string;
  /** `bearer`: a token; `token`: the field as it is; `basic`: a password; `pair`: name and password in base64. */
  readonly form: 'bearer' | 'token' | 'basic' | 'pair';
  /** Of `basic`. */
  readonly username: string | null;
  /** A program that has the value (`docker-credential-NAME`); null: the file has it. */
  readonly helper: string | null;
}

export interface RegistryLogin extends RegistryPlace {
  /** Empty where a program has it. */
  readonly secret: string;
}

/** The texts of the files of one family that are there, by name. */
export type RegistryTexts = ReadonlyMap<string, string>;

export type RegistryVariables = Readonly<Record<string, string | undefined>>;

/** An address of the web over TLS, with the user name and password in it, decoded; null: it is none. */
export function readRegistryUrl(text: string): {
  readonly url: URL;
  readonly host: string;
  readonly path: string;
  readonly username: string;
  readonly password: string;
} | null {
  const bare = text.trim().replace(/^(?:[a-z]+\+)+(?=https?:)/i, '');
  if (!URL.canParse(bare)) return null;
  const url = new URL(bare);
  if (url.protocol !== 'https:') return null;
  try {
    const username = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    return { url, host: url.hostname.toLowerCase(), path: asFolder(url.pathname), username, password };
  } catch {
    return null;
  }
}

export function asFolder(path: string): string {
  return `/${path.replace(/^\/+|\/+$/g, '')}/`.replace(/^\/\/$/, '/');
}

/** `name:password` in base64, as HTTP basic authentication has it; null: it is none. */
export function readPair(base64: string): { readonly username: string; readonly password: string } | null {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** What can stand in a header field: everything else is no login that we could send. */
export function isSendable({ username, secret, host }: RegistryLogin): boolean {
  return /^[a-z0-9.-]+$/.test(host) && /^[\x20-\x7e]*$/.test(secret) && /^[\x20-\x39\x3b-\x7e]*$/.test(username ?? '');
}
