// What the fake GitHub knows: repositories with their issues, pull requests, releases and workflow runs, each under a node
// id of the form that GitHub gives out today. Plain data; the REST and GraphQL sides read and write it.

export interface FakeComment {
  readonly id: string;
  readonly author: string;
  readonly body: string;
}

export interface FakeItem {
  readonly kind: 'Issue' | 'PullRequest';
  readonly id: string;
  readonly number: number;
  readonly repository: FakeRepository;
  title: string;
  body: string;
  state: 'OPEN' | 'CLOSED' | 'MERGED';
  readonly head: string;
  readonly base: string;
  readonly labels: string[];
  readonly comments: FakeComment[];
  readonly reviews: { readonly id: string; readonly state: string; readonly body: string }[];
}

export interface FakeRepository {
  readonly number: number;
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly items: FakeItem[];
  readonly releases: { readonly number: number; readonly tag: string; readonly title: string }[];
  readonly runs: { readonly number: number; readonly title: string; readonly branch: string }[];
}

export interface NewItem {
  readonly title: string;
  readonly body: string;
  readonly head?: string;
  readonly base?: string;
}

const reviewStates: Readonly<Record<string, string>> = {
  APPROVE: 'APPROVED',
  COMMENT: 'COMMENTED',
  REQUEST_CHANGES: 'CHANGES_REQUESTED',
};

export const when = '2026-01-02T03:04:05Z';
export const tip = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';

/** `PREFIX_` and base64url of MessagePack `[0, repository, item]`; without an item, of the repository itself. */
export function nodeId(prefix: string, repository: number, item?: number): string {
  const numbers = item === undefined ? [repository] : [repository, item];
  const packed = numbers.map((number) => {
    const bytes = Buffer.alloc(5);
    bytes[0] = 0xce;
    bytes.writeUInt32BE(number, 1);
    return bytes;
  });
  return `${prefix}_${Buffer.concat([Buffer.from([0x91 + numbers.length, 0]), ...packed]).toString('base64url')}`;
}

export class FakeGithubState {
  readonly repositories: FakeRepository[];
  #made = 9_000;

  constructor() {
    const widgets = newRepository(4_711, 'acme', 'widgets');
    const foreign = newRepository(815, 'other', 'private');
    this.repositories = [widgets, foreign];
    this.add(widgets, 'Issue', { title: 'The left widget squeaks', body: 'Oil does not help.' });
    this.add(widgets, 'PullRequest', { title: 'Grease the widget', body: 'It was dry.', head: 'sandbox/grease' });
    this.add(foreign, 'Issue', { title: 'A foreign secret', body: 'Nobody outside may read this.' });
    this.add(foreign, 'PullRequest', { title: 'A foreign change', body: 'Nobody outside.', head: 'sandbox/secret' });
    widgets.runs.push({ number: 501, title: 'Build the widgets', branch: 'sandbox/grease' });
    widgets.releases.push({ number: 601, tag: 'v1.0.0', title: 'The first widget' });
    foreign.releases.push({ number: 602, tag: 'v9.9.9', title: 'A foreign release' });
  }

  add(
    repository: FakeRepository,
    kind: FakeItem['kind'],
    { title, body, head = '', base = 'main' }: NewItem,
  ): FakeItem {
    const id = nodeId(kind === 'Issue' ? 'I' : 'PR', repository.number, ++this.#made);
    const number = repository.items.length + 1;
    const lists = { labels: [], comments: [], reviews: [] };
    const item: FakeItem = { kind, id, number, repository, title, body, state: 'OPEN', head, base, ...lists };
    repository.items.push(item);
    return item;
  }

  comment(item: FakeItem, body: string): FakeComment {
    const comment = { id: nodeId('IC', item.repository.number, ++this.#made), author: 'the-agent', body };
    item.comments.push(comment);
    return comment;
  }

  review(item: FakeItem, event: string, body: string): void {
    const state = reviewStates[event] ?? 'PENDING';
    item.reviews.push({ id: nodeId('PRR', item.repository.number, ++this.#made), state, body });
  }

  /** Names are compared as GitHub does, without case. */
  find(owner: string, name: string): FakeRepository | undefined {
    const wanted = `${owner}/${name}`.toLowerCase();
    return this.repositories.find((repository) => `${repository.owner}/${repository.name}` === wanted);
  }

  /** Of all the qualifiers it understands the few that gh needs; without `repo:` it finds everything there is. */
  search(text: string): FakeItem[] {
    if (text.includes('review-requested:')) return [];
    const repository = /\brepo:"?([^\s"]+)/.exec(text)?.[1]?.toLowerCase();
    const kind = /\b(?:is|type):"?pr\b/.test(text)
      ? 'PullRequest'
      : /\b(?:is|type):"?issue\b/.test(text)
        ? 'Issue'
        : null;
    return this.repositories
      .filter(({ owner, name }) => repository === undefined || `${owner}/${name}` === repository)
      .flatMap(({ items }) => items)
      .filter((item) => kind === null || item.kind === kind);
  }

  item(id: string): FakeItem | undefined {
    return this.repositories.flatMap(({ items }) => items).find((item) => item.id === id);
  }
}

function newRepository(number: number, owner: string, name: string): FakeRepository {
  return { number, id: nodeId('R', number), owner, name, items: [], releases: [], runs: [] };
}
