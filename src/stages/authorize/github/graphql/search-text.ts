// Whether the text of a search stays within one repository of the sandbox. GitHub adds up several repo:, org: and user:
// qualifiers, and knows OR and brackets: so exactly one repo: and none of the rest, wherever in the text it stands.
import { canonicalRepository } from '../../../../kit/text/repository-name.ts';
import { notJudged } from './refuse-graphql.ts';

// Qualifiers that narrow a search for issues and pull requests. All others could widen it.
const narrowing = new Set(
  `repo is state type author assignee mentions commenter involves label milestone in no has base head created updated closed
   merged comments interactions reactions draft review reviewed-by review-requested user-review-requested
   team-review-requested team status sort linked reason language archived locked app`.split(/\s+/),
);

// Words between plain spaces. A quote may stand only around a whole word or a whole value, so that there is one reading of
// where it ends: in quotes, repo: would be text and bind nothing.
const plainWord = /^[^\s"\\()]+$/;
const quotedWord = /^(-?[\w-]+:)?"[^"\\]*"$/;

/** The one repository that is searched. */
export function repositoryOfSearch(text: string): string {
  if (/[^\S ]/.test(text)) throw unbound('only plain spaces may stand between its words');
  const repositories: string[] = [];
  for (const word of text.match(/(?:[^ "]|"[^"]*"?)+/g) ?? []) {
    if (!plainWord.test(word) && !quotedWord.test(word)) throw unbound('brackets and stray quotes are not understood');
    if (/^(?:OR|NOT)$/i.test(word)) throw unbound('OR and NOT are not understood');
    const colon = word.startsWith('"') || word.startsWith('-"') ? -1 : word.indexOf(':');
    if (colon < 0) continue;
    const qualifier = word.slice(0, colon).toLowerCase();
    if (!narrowing.has(qualifier.replace(/^-/, ''))) throw unbound(`"${qualifier}:" does not narrow a search`);
    if (qualifier.endsWith('repo')) repositories.push(word);
  }
  const parts = /^repo:([\w.-]+)\/([\w.-]+)$/.exec(repositories[0] ?? '');
  const repository = parts === null ? null : canonicalRepository(parts[1]!, parts[2]!);
  if (repositories.length !== 1 || repository === null) throw unbound('it must name exactly one repository');
  return repository;
}

function unbound(what: string): Error {
  return notJudged(
    `this search is not bound to one repository: ${what}`,
    'Write repo:OWNER/NAME once, and only qualifiers such as is:, state:, author:, label:.',
  );
}
