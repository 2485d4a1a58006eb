// The API of an LFS server over a map of objects: batch and locks, as the specification has them. What a test wants to
// have answered otherwise it says in `script`.

export interface LfsRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface LfsReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

export interface Action {
  readonly href: string;
  readonly header?: Record<string, string>;
  readonly expires_in?: number;
  readonly expires_at?: string;
}

export interface BatchObject {
  readonly oid: string;
  readonly size: number;
  readonly actions?: Record<string, Action>;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Batch {
  readonly transfer?: string;
  readonly objects: readonly BatchObject[];
}

interface Lock {
  readonly id: string;
  readonly path: string;
  readonly locked_at: string;
  readonly owner: { readonly name: string };
}

export class LfsServer {
  /** Set by a test: gets the usual answer to a batch and gives what is sent instead. */
  script: ((usual: Batch) => LfsReply | object) | null = null;
  readonly locks: Lock[] = [];
  readonly #objects: ReadonlyMap<string, Buffer>;
  readonly #actionFor: (oid: string, what: string) => Action;

  constructor(objects: ReadonlyMap<string, Buffer>, actionFor: (oid: string, what: string) => Action) {
    this.#objects = objects;
    this.#actionFor = actionFor;
  }

  answer({ method, url, body }: LfsRequest): LfsReply {
    const [, rest = ''] = url.split('?')[0]!.split('/info/lfs/');
    if (rest === 'objects/batch') return this.#batch(body);
    if (rest === 'locks' && method === 'GET') return json(200, { locks: this.locks });
    if (rest === 'locks/verify') return json(200, { ours: this.locks, theirs: [] });
    if (rest === 'locks') return this.#lock((JSON.parse(body) as { path: string }).path);
    const unlocked = /^locks\/([^/]+)\/unlock$/.exec(rest)?.[1];
    const at = this.locks.findIndex(({ id }) => id === unlocked);
    return at < 0 ? json(404, { message: 'no such thing' }) : json(200, { lock: this.locks.splice(at, 1)[0] });
  }

  #batch(body: string): LfsReply {
    const { operation, objects } = JSON.parse(body) as { operation: string; objects: BatchObject[] };
    const usual: Batch = {
      transfer: 'basic',
      objects: objects.map(({ oid, size }) => this.#object(operation, oid, size)),
    };
    const said = this.script === null ? usual : this.script(usual);
    return 'status' in said && 'text' in said ? (said as LfsReply) : json(200, said);
  }

  #object(operation: string, oid: string, size: number): BatchObject {
    const isHere = this.#objects.has(oid);
    if (operation === 'upload') {
      if (isHere) return { oid, size };
      return { oid, size, actions: { upload: this.#actionFor(oid, 'upload'), verify: this.#actionFor(oid, 'verify') } };
    }
    if (!isHere) return { oid, size, error: { code: 404, message: 'there is no such object' } };
    return { oid, size, actions: { download: this.#actionFor(oid, 'download') } };
  }

  #lock(path: string): LfsReply {
    const lock = {
      id: `lock-${this.locks.length + 1}`,
      path,
      locked_at: new Date().toISOString(),
      owner: { name: 'bot' },
    };
    this.locks.push(lock);
    return json(201, { lock });
  }
}

export function json(status: number, value: object): LfsReply {
  return { status, headers: { 'content-type': 'application/vnd.git-lfs+json' }, text: JSON.stringify(value) };
}
