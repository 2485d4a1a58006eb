// Rewrites the answer to a batch: every address of the storage becomes a ticket, every other thing that was not asked
// for or is not known is left out. An answer that names an address which may not be used is not passed on at all.
import * as z from 'zod';
import type { AnswerRewriter } from '../../../../path/exchange/rewritten-answer.ts';
import { expiryOf, readLfsAddress } from './lfs-address.ts';
import { unsafeLfsAnswer } from './lfs-refusals.ts';
import type { LfsAction, LfsTickets } from './lfs-tickets.ts';

export interface BatchAsked {
  readonly sandboxId: string;
  readonly sandboxSince: string;
  readonly host: string;
  readonly port: number;
  readonly repository: string;
  readonly rawRepositoryPath: string;
  readonly operation: 'download' | 'upload';
  /** By id. */
  readonly sizes: ReadonlyMap<string, number>;
}

const maxAnswerBytes = 16 * 1024 ** 2;
const maxErrorLength = 1000;

const action = z.object({
  href: z.string(),
  header: z.record(z.string(), z.string()).nullish(),
  expires_in: z.number().nullish(),
  expires_at: z.string().nullish(),
});
const batchAnswer = z.object({
  transfer: z.enum(['basic', '']).nullish(),
  hash_algo: z.enum(['sha256', '']).nullish(),
  objects: z
    .array(
      z.object({
        oid: z.string(),
        actions: z.object({ download: action.nullish(), upload: action.nullish(), verify: action.nullish() }).nullish(),
        error: z.object({ code: z.int(), message: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});

type Action = z.output<typeof action>;
type Answered = NonNullable<z.output<typeof batchAnswer>['objects']>[number];

const actionsOf: Record<BatchAsked['operation'], readonly LfsAction[]> = {
  download: ['download'],
  upload: ['upload', 'verify'],
};

export class BatchAnswer implements AnswerRewriter {
  readonly #asked: BatchAsked;
  readonly #tickets: LfsTickets;
  readonly #now: () => number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(asked: BatchAsked, tickets: LfsTickets, now: () => number = Date.now) {
    this.#asked = asked;
    this.#tickets = tickets;
    this.#now = now;
  }

  feed(chunk: Buffer): readonly Buffer[] {
    this.#bytes += chunk.length;
    if (this.#bytes > maxAnswerBytes) {
      throw unsafeLfsAnswer(this.#asked.host, `answered a batch with more than ${maxAnswerBytes} bytes`);
    }
    this.#chunks.push(chunk);
    return [];
  }

  end(): readonly Buffer[] {
    const { transfer, objects } = this.#read();
    const left = new Map(this.#asked.sizes);
    const kept = (objects ?? []).filter(({ oid }) => left.delete(oid));
    const answer = {
      ...(transfer ? { transfer } : {}),
      objects: kept.map((object) => this.#rewrite(object, this.#asked.sizes.get(object.oid)!)),
    };
    return [Buffer.from(JSON.stringify(answer))];
  }

  #read(): z.output<typeof batchAnswer> {
    const { host } = this.#asked;
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(this.#chunks.splice(0))));
    } catch {
      // Not its cause: a syntax error quotes what it found, and that may be an address.
      throw unsafeLfsAnswer(host, 'answered a batch with something that is not JSON');
    }
    const read = batchAnswer.safeParse(value);
    if (read.success) return read.data;
    const where = read.error.issues[0]!.path.join('.') || 'the answer';
    throw unsafeLfsAnswer(host, `answered a batch in a form that is not understood (${where.slice(0, 100)})`);
  }

  #rewrite({ oid, actions, error }: Answered, size: number): object {
    if (error != null) {
      return { oid, size, error: { code: error.code, message: (error.message ?? '').slice(0, maxErrorLength) } };
    }
    const doors: Record<string, object> = {};
    for (const name of actionsOf[this.#asked.operation]) {
      const given = actions?.[name];
      if (given != null) doors[name] = this.#door(oid, size, name, given);
    }
    // An object that is there already has no actions, and git-lfs goes by that.
    return Object.keys(doors).length === 0 ? { oid, size } : { oid, size, authenticated: true, actions: doors };
  }

  #door(oid: string, size: number, name: LfsAction, given: Action): object {
    const { sandboxId, sandboxSince, host, port, repository, rawRepositoryPath } = this.#asked;
    const nowMs = this.#now();
    const expiresAt = expiryOf(given, nowMs);
    const ticket = this.#tickets.issue(
      { sandboxId, sandboxSince, host, port, repository, action: name, oid, size, expiresAt },
      this.#address(given, name),
    );
    const authority = port === 443 ? host : `${host}:${port}`;
    return {
      href: `https://${authority}${rawRepositoryPath}/info/lfs/door/${ticket}`,
      expires_in: Math.floor((expiresAt - nowMs) / 1000),
      expires_at: new Date(expiresAt).toISOString(),
    };
  }

  #address(given: Action, name: LfsAction): ReturnType<typeof readLfsAddress> {
    try {
      return readLfsAddress(given);
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw unsafeLfsAnswer(this.#asked.host, `gave an address for ${name} that ${what}`);
    }
  }
}
