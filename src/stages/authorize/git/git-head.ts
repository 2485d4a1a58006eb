// The fields of a git request: exactly the ones git sends, because a server may act on a body that the gateway took for
// another kind. Also what goes on of them: never the sandbox's own proof of who it is.
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { GitOperation, RawRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';

const contentTypes: Partial<Record<GitOperation, string>> = {
  'upload-pack': 'application/x-git-upload-pack-request',
  'receive-pack': 'application/x-git-receive-pack-request',
};

/** Refuses what is not exactly git; tells whether the body is compressed. */
export function checkGitHead(request: RawRequest, operation: GitOperation): { readonly isCompressed: boolean } {
  const expected = contentTypes[operation];
  const { headers } = request;
  const types = headers.getAll('content-type');
  if (expected !== undefined && (types.length !== 1 || types[0] !== expected)) {
    throw notGit(`Content-Type must be exactly ${expected}`);
  }
  const encodings = headers.getAll('content-encoding');
  if (encodings.length > 1) throw notGit('Content-Encoding stands there more than once');
  const encoding = encodings[0]?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw notGit('the body may be compressed with gzip, once, or not at all');
  return { isCompressed: encoding === 'gzip' };
}

const ownProof = new Set(['authorization', 'cookie', 'private-token', 'job-token', 'deploy-token']);
const aboutTheBody = new Set(['content-encoding', 'content-length', 'expect']);

/** The fields without the sandbox's own auth. `dropped` names further ones, in lower case. */
export function withoutOwnProof({ headers }: RawRequest, dropped: readonly string[] = []): HeaderList {
  return headers.without((key) => ownProof.has(key) || dropped.includes(key));
}

/** The same for a body that is sent in another form than it came. `bytes` null: its length is not known. */
export function withBodyOf(fields: HeaderList, bytes: number | null): HeaderList {
  const headers = fields.without((key) => aboutTheBody.has(key));
  if (bytes !== null) headers.append('Content-Length', String(bytes));
  return headers;
}

function notGit(problem: string): Refusal {
  return new Refusal('git.malformed', `this is not a request of git: ${problem}`, {
    rule: 'built-in: git as git speaks it',
    hint: 'Use an unmodified git client.',
  });
}
