// Which git operation a request is, from its method, path and query alone: the exact forms that git and git-lfs send.
// Anything that only looks like one is told apart from plain web, so that it can be refused and is never served half-way:
// another server might read it as the real thing.

export type SmartHttpOperation =
  | 'advertise-upload'
  | 'advertise-receive'
  | 'upload-pack'
  | 'receive-pack'
  | 'lfs-batch'
  | 'lfs-locks'
  | 'lfs-lock'
  | 'lfs-unlock'
  | 'lfs-verify-locks'
  /** Not LFS's own: an address under which the gateway hands out an object (`info/lfs/door/TICKET`). */
  | 'lfs-object';

export type Recognised =
  /** `repository` is `owner/repo` as it was written, without `.git`: not yet canonical. */
  | { readonly kind: 'git'; readonly repository: string; readonly operation: SmartHttpOperation }
  /** Files of a repository asked for one by one: nothing in it can be judged. */
  | { readonly kind: 'dumb-http'; readonly repository: string }
  /** Names a git service in a form that no git client sends. */
  | { readonly kind: 'odd-git' }
  | { readonly kind: 'other' };

/** Words that name a git service wherever they stand in a path, in any case. */
const gitWords = /(?:^|\/)(?:git-(?:upload|receive)-(?:pack|archive)|info\/(?:refs|lfs))(?:\/|$)/i;
const dumbPath = /^(?:HEAD|config|description|packed-refs|info(?:\/.*)?|objects(?:\/.*)?)$/i;
const doorTicket = /^info\/lfs\/door\/[\w-]{16,64}$/;
const lockId = /^info\/lfs\/locks\/[^/]+\/unlock$/;

const odd: Recognised = { kind: 'odd-git' };
const other: Recognised = { kind: 'other' };

/** `path` decoded and canonical, beginning with `/`; `query` raw, without `?`, null when there is none. */
export function recognise(method: string, path: string, query: string | null): Recognised {
  const [, owner = '', name = '', ...segments] = path.split('/');
  const rest = segments.join('/');
  const hasSuffix = /\.git$/i.test(name);
  const bare = hasSuffix ? name.slice(0, -4) : name;
  const namesGit = gitWords.test(path);
  if (owner === '' || bare === '' || rest === '' || /\.git$/i.test(bare)) return namesGit ? odd : other;
  const repository = `${owner}/${bare}`;
  const operation = operationOf(method, rest, query);
  if (operation !== null) return { kind: 'git', repository, operation };
  if (rest === 'info/refs' && query === null && (method === 'GET' || method === 'HEAD')) {
    return { kind: 'dumb-http', repository };
  }
  if (namesGit) return odd;
  return hasSuffix || dumbPath.test(rest) ? { kind: 'dumb-http', repository } : other;
}

function operationOf(method: string, rest: string, query: string | null): SmartHttpOperation | null {
  if (method === 'GET') {
    if (rest === 'info/lfs/locks') return 'lfs-locks';
    if (doorTicket.test(rest) && query === null) return 'lfs-object';
    if (rest !== 'info/refs') return null;
    // The query exactly as git sends it: `service` twice could be read either way.
    if (query === 'service=git-upload-pack') return 'advertise-upload';
    return query === 'service=git-receive-pack' ? 'advertise-receive' : null;
  }
  if (query !== null) return null;
  if (doorTicket.test(rest) && (method === 'PUT' || method === 'POST')) return 'lfs-object';
  if (method !== 'POST') return null;
  if (lockId.test(rest)) return 'lfs-unlock';
  return posted.get(rest) ?? null;
}

const posted: ReadonlyMap<string, SmartHttpOperation> = new Map([
  ['git-upload-pack', 'upload-pack'],
  ['git-receive-pack', 'receive-pack'],
  ['info/lfs/objects/batch', 'lfs-batch'],
  ['info/lfs/locks', 'lfs-lock'],
  ['info/lfs/locks/verify', 'lfs-verify-locks'],
]);
