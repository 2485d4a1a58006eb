// `placeholder` of a credential: where a sandbox finds what stands for it. A placeholder is no secret. What the sandbox needs for
// itself is not given away for one, and no two credentials share a place or a placeholder.
import * as z from 'zod';
import type { CredentialSpec, PlaceholderSpec } from '../compiled.ts';
import type { Findings } from './findings.ts';
import type { Parsed } from './parsed.ts';
import { oneOrMany, strictKeys, textRead } from './schema.ts';

/** Without them nothing runs as it should, or something else runs first. */
const needed =
  /^(?:HOME|PATH|USER|LOGNAME|SHELL|PWD|TMPDIR|TERM|IFS|ENV|BASH_ENV|NODE_OPTIONS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|JAVA_TOOL_OPTIONS|GIT_.*|LD_.*|SALLYPORT_.*|.*_PROXY|.*_CA_(?:BUNDLE|CERTS?|FILE)|SSL_CERT_.*)$/i;

const variable = textRead<string>((text) => {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) return { problem: 'write the name of a variable such as MY_API_KEY' };
  if (needed.test(text))
    return { problem: `${text} is not a place for a placeholder: the sandbox needs it for itself` };
  return { value: text };
}, 'the name of a variable such as MY_API_KEY');

/** Below the home, without a slash at the front. */
function parseHomePath(text: string): Parsed<string> {
  const parts = text.split('/');
  const isBelow = parts[0] === '~' && parts.length > 1;
  if (!isBelow || parts.slice(1).some((part) => part === '' || part === '.' || part === '..')) {
    return { problem: 'write the place of a file below the home of the sandbox such as ~/.my-api/token' };
  }
  if (/\p{Cc}/u.test(text)) return { problem: 'a name of a file holds no control characters' };
  return { value: parts.slice(1).join('/') };
}

const placeholderMarker = '{placeholder}';
const maxTextBytes = 64 * 1024;

export const placeholderKeys = strictKeys({
  env: oneOrMany(variable).optional(),
  file: textRead(parseHomePath, 'the place of a file such as ~/.my-api/token').optional(),
  text: z
    .string({ error: 'write a text' })
    .refine((text) => text.length <= maxTextBytes, { error: `write at most ${maxTextBytes} characters` })
    .refine((text) => text.includes(placeholderMarker), {
      error: `write ${placeholderMarker} where the placeholder goes`,
    })
    .optional(),
  prefix: z
    .string({ error: 'write a text' })
    .regex(/^[A-Za-z0-9._:-]{0,64}$/, {
      error: 'a prefix has letters, digits, dots, colons, hyphens and underscores, at most 64',
    })
    .optional(),
}).transform((keys, context): PlaceholderSpec => {
  const refuse = (message: string): never => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (keys.env === undefined && keys.file === undefined) {
    return refuse('write where the sandbox finds it: {env: MY_API_KEY} or {file: "~/.my-api/token"}');
  }
  if (keys.text !== undefined && keys.file === undefined) return refuse('`text` goes with `file` only');
  const file = keys.file === undefined ? null : { path: keys.file, text: keys.text ?? `${placeholderMarker}\n` };
  return { variables: keys.env ?? [], file, prefix: keys.prefix ?? null };
});

/** Reports places that two credentials want, and credentials whose placeholders nobody could tell apart. */
export function checkPlaceholders(specs: ReadonlyMap<string, CredentialSpec>, findings: Findings): void {
  const takenBy = new Map<string, string>();
  const take = (place: string, name: string, shown: string): void => {
    const other = takenBy.get(place);
    if (other === undefined) takenBy.set(place, name);
    else findings.error(['credentials', name, 'placeholder'], `${shown} is already the placeholder of ${other}`, 'key');
  };
  const words = new Map<string, string>();
  for (const { name, placeholder, line } of specs.values()) {
    // Guards: threats.md T51. In a placeholder dots of a name are underscores.
    const spelt = name.replaceAll('.', '_');
    const other = words.get(spelt);
    if (other === undefined) words.set(spelt, name);
    else if (line !== null) {
      findings.error(
        ['credentials', name],
        `its placeholder would be that of ${other}: choose names that differ in more than dots and underscores`,
        'key',
      );
    }
    for (const each of placeholder?.variables ?? []) take(`env ${each}`, name, each);
    if (placeholder?.file) take(`file ${placeholder.file.path}`, name, `~/${placeholder.file.path}`);
  }
}
