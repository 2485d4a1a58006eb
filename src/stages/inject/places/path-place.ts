// A credential that goes into the path (`/bot<token>/sendMessage`): its placeholder is exchanged, as it stands there and nothing
// else. The canonical path, which is judged and written down, keeps the placeholder.
import { compileGlob, type Glob } from '../../../kit/text/glob.ts';
import { placeholderFor } from '../../../kit/text/placeholder.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CredentialSpec, Injection } from '../../../policy/compiled.ts';
import { noPlace } from './no-place.ts';

type PathInjection = Extract<Injection, { readonly kind: 'path' }>;

/** What stands for the placeholder in the pattern of a policy. */
export const credentialMarker = '{credential}';

/** By the text of the pattern with the placeholder in it; as many as a policy has. */
const globs = new WeakMap<PathInjection, Glob>();

/** The raw path around the place; null: there is none. Throws a Refusal where it stands twice or elsewhere. */
export function pathPlace(
  { canonical }: Pick<Authorized, 'canonical'>,
  spec: CredentialSpec,
  injection: PathInjection,
): { readonly before: string; readonly after: string } | null {
  const { rawPath, path } = canonical;
  const text = placeholderFor(spec.name, spec.placeholder?.prefix ?? '');
  const found = [...rawPath.matchAll(inAnySpelling(text))];
  if (found.length === 0) return null;
  if (found.length > 1) {
    throw noPlace(spec.name, 'its placeholder stands in the path more than once', 'Send it once.');
  }
  if (injection.pattern !== null) {
    let glob = globs.get(injection);
    if (glob === undefined) {
      glob = compileGlob(injection.pattern.replace(credentialMarker, text));
      globs.set(injection, glob);
    }
    // Guards: threats.md T112. A place that the policy does not name may be one that is shown or logged.
    if (!glob.covers(path)) {
      throw noPlace(
        spec.name,
        'its placeholder stands where the policy has no place for it',
        `Its place is ${injection.pattern}.`,
      );
    }
  }
  const [match] = found;
  const start = match!.index;
  return { before: rawPath.slice(0, start), after: rawPath.slice(start + match![0].length) };
}

/** False: the request goes out without the credential, which may be. Throws a Refusal where it may not. */
export function hasPlace(flow: Pick<Authorized, 'canonical'>, spec: CredentialSpec, injection: PathInjection): boolean {
  if (pathPlace(flow, spec, injection) !== null) return true;
  if (spec.anonymous) return false;
  const { pattern } = injection;
  const where = pattern === null ? 'the credential goes' : `${credentialMarker} stands in ${pattern}`;
  throw noPlace(
    spec.name,
    'it goes into the path, in place of its placeholder, which is not there',
    `Send ${placeholderFor(spec.name, spec.placeholder?.prefix ?? '')} where ${where}.`,
  );
}

/** Within one segment, whatever the value is made of. */
export function asSegment(name: string, value: string): string {
  const written = encodeURIComponent(value).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent);
  // A dot alone, or two, would be a step within the path.
  if (/^\.{0,2}$/.test(written)) {
    throw new Refusal('credential.unreadable', `the credential ${name} is no part of a path`, {
      rule: `credentials.${name}`,
    });
  }
  return written;
}

const spellings = new Map<string, RegExp>();

/** Each character as itself or percent-encoded: clients differ in what they escape. */
function inAnySpelling(text: string): RegExp {
  let known = spellings.get(text);
  if (known === undefined) {
    const letters = Array.from(text, (letter) => {
      const hex = letter.charCodeAt(0).toString(16).padStart(2, '0');
      const digits = Array.from(hex, (digit) => (/[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit));
      return `(?:${letter.replace(/[^A-Za-z0-9]/g, '\\$&')}|%${digits.join('')})`;
    });
    known = new RegExp(letters.join(''), 'g');
    if (spellings.size > 1000) spellings.clear();
    spellings.set(text, known);
  }
  return known;
}
