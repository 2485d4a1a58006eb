// Says of a text whether it may hold a credential: by its shape, by what the user is known to have, by the name beside it. Better
// one too many: what is left out is named, and its user can put it where it belongs.
import { looksLikeCredential, looksLikeSecretValue } from '../stubs/credential-variables.ts';

export interface SecretWords {
  /** In a whole text: a memory file, a command. */
  isInText(text: string): boolean;
  /** In one value of a setting. */
  isInValue(value: string): boolean;
}

const shortestKnown = 8;
const mostKnown = 5000;

/** `known`: texts of files that hold credentials; `variables`: the user's environment. */
export function secretWords(
  known: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): SecretWords {
  const words = new Set<string>();
  for (const [name, value] of Object.entries(variables))
    if (value !== undefined && value.length >= shortestKnown && looksLikeCredential(name)) words.add(value);
  for (const text of known) {
    const whole = text.trim();
    if (whole.length >= shortestKnown && !/\s/.test(whole)) words.add(whole);
    for (const [word] of text.matchAll(/[A-Za-z0-9+/_=.~-]{16,}/g)) if (isMixed(word)) words.add(word);
  }
  const all = [...words].slice(0, mostKnown);
  const isKnown = (text: string): boolean => all.some((word) => text.includes(word));
  return {
    isInText: (text) => looksLikeSecretValue(text) || assigned.test(text) || isKnown(text),
    isInValue: (value) => looksLikeSecretValue(value) || assigned.test(value) || isKnown(value) || isToken(value),
  };
}

/** `password: s3cret-word`: a name for a credential, and something that is no plain word. `$NAME` and `<NAME>` are none. */
const assigned =
  /(?:api[_-]?key|token|secret|passw(?:or)?d|passphrase|bearer|authorization)["'`]?\s*[:=\s]\s*["'`]?(?=[^\s"'`]*\d)(?=[^\s"'`]*[a-z])[^\s"'`$<{][^\s"'`]{7,}/i;

/** Something that no person would write: letters and digits without a break. */
function isToken(value: string): boolean {
  if (/\s/.test(value)) return value.split(/\s+/).some(isToken);
  return value.split(/[-_./:=?&@,]+/).some((part) => (part.length >= 20 && isMixed(part)) || part.length >= 48);
}

function isMixed(word: string): boolean {
  return /\d/.test(word) && /[A-Za-z]/.test(word);
}

/** A key of a settings file by whose name the value is a credential. Names of variables are none. */
export function namesCredential(key: string): boolean {
  if (/(?:^|_)env_?(?:var|key)$|_env_var$/i.test(key)) return false;
  const spelled = key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_');
  return looksLikeCredential(spelled) || /^(?:authorization|cookie|x_api_key)$/i.test(spelled);
}

/** A reference to a variable, by which agents fill in what is not in the file. */
export function isReference(value: string): boolean {
  return /^(?:Bearer )?(?:\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{env:[A-Za-z_]\w*\})$/.test(value);
}

/** In an address: a login, a query that is a credential, or a path that is one. */
export function isSecretAddress(value: string): boolean {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return false;
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') return true;
  if ([...url.searchParams.keys()].some((name) => namesCredential(name))) return true;
  const parts = [...url.pathname.split('/'), ...url.searchParams.values()];
  return parts.some(
    (part) => uuid.test(part) || (part.length >= 16 && isMixed(part) && !/^[a-z]+(?:-[a-z0-9]+)+$/.test(part)),
  );
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
