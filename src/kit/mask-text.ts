// Takes out of a text whatever looks like a credential: values of auth fields, userinfo and query values of URLs,
// tokens of known shapes, private keys. For logs and journals only: it may mask too much and must never mask too
// little. Every expression is bounded or linear, since a sandbox has a say in the texts that come here.

const mask = '***';
const maxText = 16 * 1024;

/** Lower-case names of fields whose values authenticate somebody. */
const secretFields = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'apikey',
  'x-goog-api-key',
  'x-auth-token',
  'x-access-token',
  'x-amz-security-token',
  'x-csrf-token',
  'private-token',
  'job-token',
  'deploy-token',
  'www-authenticate',
  'proxy-authenticate',
  'authentication-info',
  'sec-websocket-protocol',
  'chatgpt-account-id',
] as const;

const secretField = new Set<string>(secretFields);
const secretWord =
  /(?:^|[-_.])(?:secret|password|passwd|passphrase|token|api[-_]?key|private[-_]?key|access[-_]?key|cookies?|credentials?[-_]?value|authorization|client[-_]?secret|bearer)(?:[-_.]?(?:value|text|s))?$/;

/** Whether a field, property or parameter of this name holds something that must not be printed. */
export function namesSecret(name: string): boolean {
  if (name.length > 128) return false;
  const key = name.toLowerCase();
  if (secretField.has(key)) return true;
  // accessToken and ACCESS_TOKEN are read alike.
  return secretWord.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase());
}

const privateKey = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g;

const names = secretFields.join('|');
const quoted = `\\\\{1,3}"[^"]*"?|"(?:[^"\\\\]|\\\\.)*"?|'[^']*'?`;
// `authorization: Bearer x`, `"x-api-key": "x"`, `cookie=a; b`: to the end of the quoted value or of the line.
const fieldInText = new RegExp(
  `(\\b(?:${names})\\b\\\\{0,3}["']?\\s{0,8}[:=]\\s{0,8})(${quoted}|[^\\r\\n"'}\\]]+)`,
  'gi',
);
// `['authorization', 'Bearer x']`: a printed list of fields.
const fieldInList = new RegExp(`(["'](?:${names})\\\\{0,3}["']\\s{0,8},\\s{0,8})(${quoted})`, 'gi');
// `password=x`, `"client_secret":"x"`: one word, since prose speaks of secrets and tokens too.
const assignment = new RegExp(
  `((?:secret|password|passwd|passphrase|token|api[-_]?key|private[-_]?key|access[-_]?key)\\\\{0,3}["']?\\s{0,4}[:=]\\s{0,4})(${quoted}|[^\\s"',;&}\\])]+)`,
  'gi',
);

const url = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`\\]+/gi;
const parameter = /([?&#;][\w.~%[\]-]{1,64}=)[^&\s"'<>#;`\\]+/g;
const scheme = /\b(basic|bearer|digest|negotiate|token)(\s{1,4})([A-Za-z0-9+/=_.~-]{8,})/gi;

const tokens = [
  // Anthropic, OpenAI, OpenRouter, DeepSeek and others. The letter before rules out `task-` and `disk-`.
  /(?:(?<![A-Za-z])sk-|sk-(?:ant|proj|or|svcacct)-)[A-Za-z0-9_-]{8,}/g,
  /gh[opusr]_[A-Za-z0-9]{10,}/g,
  /github_pat_\w{10,}/g,
  /gl(?:pat|dt|rt|ptt|cbt|soat)-[\w.-]{10,}/g,
  /xox[a-z]{1,2}-[\w.-]{6,}|xapp-[\w-]{10,}/g,
  /AIza[\w-]{20,}/g,
  /ya29\.[\w.-]{10,}/g,
  /(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g,
  /eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*)*/g,
  /(?<![A-Za-z])(?:hf|gsk|npm|nvapi|sbp|dop_v1)[_-][A-Za-z0-9_-]{20,}/g,
  /(?<![A-Za-z])(?:xai|pplx|tvly|pypi|dckr_pat)-[\w-]{12,}/g,
];

/** The text with everything that looks like a credential masked; at most 16 KiB of it. */
export function maskText(text: string): string {
  let out = cutAtSpace(text);
  if (out.includes('PRIVATE KEY')) out = out.replace(privateKey, `${mask} private key ${mask}`);
  out = out.replace(fieldInText, maskValue).replace(fieldInList, maskValue);
  if (out.includes('://')) out = out.replace(url, maskUrl);
  out = out.replace(parameter, `$1${mask}`);
  out = out.replace(assignment, maskValue);
  out = out.replace(scheme, (whole, word: string, space: string, value: string) =>
    // "the basic authentication" is prose: a word of lower-case letters alone is kept.
    /^[a-z]+[.]?$/.test(value) && value.length < 20 ? whole : `${word}${space}${mask}`,
  );
  for (const token of tokens) out = out.replace(token, mask);
  return out;
}

/** Quotes stay, so that JSON is still JSON; so do `"max_token":5` and `"token":null`, which say nothing. */
function maskValue(whole: string, name: string, value: string): string {
  if (/["']\s*[:=]\s*$/.test(name) && /^(?:\d{1,15}|true|false|null)$/.test(value)) return whole;
  const quote = /^\\*["']/.exec(value)?.[0] ?? '';
  return `${name}${quote}${mask}${quote}`;
}

/** Keeps scheme, host, path and the names of the parameters. */
function maskUrl(whole: string): string {
  const authority = whole.indexOf('://') + 3;
  const afterAuthority = whole.slice(authority).search(/[/?#]/);
  const pathAt = afterAuthority < 0 ? whole.length : authority + afterAuthority;
  const at = whole.lastIndexOf('@', pathAt - 1);
  const host = at < authority ? whole.slice(authority, pathAt) : whole.slice(at + 1, pathAt);
  const rest = whole
    .slice(pathAt)
    .replace(/([?#&])([^?#&=]*)(=[^?#&]*)?/g, (_, mark: string, name: string, value?: string) => {
      // A long bare word is more likely a value without a name than a name without a value.
      if (value === undefined) return mark + (name.length > 32 ? mask : name);
      return `${mark}${name}=${mask}`;
    });
  return whole.slice(0, authority) + host + rest;
}

/** Cuts long text, at a space where there is one: half a token might no longer look like one. */
function cutAtSpace(text: string): string {
  if (text.length <= maxText) return text;
  let end = maxText;
  while (end > maxText - 4096 && !/\s/.test(text[end]!)) end--;
  return `${text.slice(0, end)}… [${text.length - end} more characters]`;
}
