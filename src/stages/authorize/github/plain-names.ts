// The one strict reading of the names of branches, refs and files wherever a call of GitHub's API takes one. GitHub finds
// a branch by many spellings (`heads/main`, `main~0`) and cleans up paths (`./x`, `a//b`); the rules hold for the plain
// one, so every other is refused, with the plain one in the hint. // Guards: threats.md T86
import { printableText } from '../../../protocols/git/printable-text.ts';
import { isRefName } from '../../../protocols/git/ref-name.ts';

/** What stands in front of a name, and so could be taken off it. */
const qualified = /^(?:refs|heads|tags|remotes)\//i;
/** What names a commit by itself: HEAD and its kin, `@`, the id of an object. */
const commit = /^(?:@|(?:[a-z]+_)?head|[0-9a-f]{40}|[0-9a-f]{64})$/i;
const space = /\s/u;

/** Why this is not the plain name of a branch, and what would be; null: it is. */
export function branchDoubt(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return 'give the name of the branch as text';
  const plain = 'write the plain name of the branch, as in "main" or "sandbox/work"';
  if (qualified.test(value)) return `${plain}, without refs/, heads/, tags/ or remotes/ before it`;
  if (commit.test(value)) return `${plain}: this names a commit`;
  if (!isRefName(`refs/heads/${value}`) || value.startsWith('-') || !isPrintable(value)) {
    return `${plain}, without spaces, control characters, or an expression such as ~0, ^{commit} or @{0}`;
  }
  return null;
}

/** The same for a whole name, which begins with `refs/`. */
export function refDoubt(value: unknown): string | null {
  const plain = 'write the whole name of the ref, refs/heads/NAME';
  if (typeof value !== 'string' || !value.startsWith('refs/') || !isRefName(value) || !isPrintable(value)) return plain;
  const short = /^refs\/(?:heads|tags)\/(.*)$/s.exec(value)?.[1];
  // What is no branch and no tag is refused by the rules of a push, in their words.
  return short === undefined || branchDoubt(short) === null ? null : `${plain}, where NAME is plain: "main"`;
}

/** Why this is not the plain path of a file, and what would be; null: it is. */
export function pathDoubt(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return 'give the path of the file as text';
  const isPlain = value.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  if (isPlain && !value.includes('\\') && value.trim() === value && printableText(value) === value) return null;
  return 'write the plain path from the top of the repository, as in "src/a.txt": no slash at either end, no empty, "." or ".." part, no backslash, control character or space around it';
}

function isPrintable(name: string): boolean {
  return !space.test(name) && printableText(name) === name;
}
