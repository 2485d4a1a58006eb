// Asks the server of a push what the push alone does not tell: which refs there are, the commits between two points,
// single objects. In protocol version 2, over the same way out as every request. Never clones, never keeps an answer.
import { LRUCache } from 'lru-cache';
import { type Spool, SpoolFull } from '../../kit/files/spool.ts';
import { Refusal } from '../../path/refusal.ts';
import { AdvertisementReader } from '../../protocols/git/advertisement.ts';
import { AcknowledgmentReader } from '../../protocols/git/fetch-acknowledgments.ts';
import {
  abilitiesOf,
  type FetchQuestion,
  LsRefsReader,
  type RemoteRef,
  renderFetchRequest,
  renderHaveQuestion,
  renderLsRefsRequest,
  type ServerAbilities,
} from '../../protocols/git/fetch-v2.ts';
import { type Fetched, FetchedPack, type FetchedPackLimits } from '../../protocols/git/fetched-pack.ts';
import { GitRemoteError } from '../../protocols/git/git-remote-error.ts';
import { GitWireError } from '../../protocols/git/git-wire-error.ts';
import type { Commit } from '../../protocols/git/objects/object-commit.ts';
import { PackStore } from '../../protocols/git/objects/pack-store.ts';
import { OverBudget, WorkBudget } from '../../protocols/git/objects/work-budget.ts';
import type { GitServer, OpenGitServer, RemoteObject } from '../../stages/authorize/git/git-server.ts';
import { type Asker, type AskPorts, askUpstream, type UpstreamQuestion } from './ask-upstream.ts';

export interface GitServerPorts extends AskPorts {
  /** Where an answer goes that is too large for memory. */
  readonly spool: Pick<Spool, 'open'>;
  readonly limits?: Partial<GitServerLimits>;
}

export interface GitServerLimits extends Partial<FetchedPackLimits> {
  /** Packs beyond this go to the spool. */
  readonly maxMemoryBytes: number;
  readonly maxRefsBytes: number;
  readonly maxPackBytes: number;
}

const defaultLimits: GitServerLimits = {
  maxMemoryBytes: 8 * 1024 ** 2,
  maxRefsBytes: 64 * 1024 ** 2,
  maxPackBytes: 256 * 1024 ** 2,
};

/** A few lines in version 2; a server of before lists every ref, and is to be told apart. */
const maxAdvertisementBytes = 16 * 1024 ** 2;
const abilitiesMs = 5 * 60_000;
const maxRepositories = 1_000;
const idsPerQuestion = 200;
const havesPerQuestion = 5_000;
/** Nested objects may take a few questions; more of them are a maze that somebody built. */
const maxRounds = 8;
/** Of one push: more are asked only by one that was made for it. */
const maxQuestions = 600;
/** What an object takes besides its content. */
const objectBytes = 400;
/** For a call that brings no pack. */
const withoutPack = { maxHeldBytes: 64 * 1024 ** 2, maxWorkBytes: 1024 ** 3 };
const version2 = ['Git-Protocol', 'version=2'] as const;

type Memory = LRUCache<string, ServerAbilities>;

export function createGitServer(ports: GitServerPorts): OpenGitServer {
  const memory: Memory = new LRUCache({ max: maxRepositories, ttl: abilitiesMs });
  return (flow, permission, signal, budget = new WorkBudget(withoutPack)) => {
    if (permission.git === null) throw new Error('a git server was asked for by a request that is not of git');
    const { scheme, host, port } = flow.canonical;
    // By sandbox too: what one may learn of a server, another need not.
    const key = `${flow.sandbox.id} ${scheme}://${host}:${port}/${permission.git.repository}`;
    const limits = { ...defaultLimits, ...ports.limits };
    const asker = { flow, permission, signal };
    return new AskedServer(ports, asker, permission.git.rawRepositoryPath, limits, memory, key, budget);
  };
}

class AskedServer implements GitServer {
  readonly #ports: GitServerPorts;
  readonly #asker: Asker;
  readonly #path: string;
  readonly #limits: GitServerLimits;
  readonly #memory: Memory;
  readonly #key: string;
  readonly #budget: WorkBudget;
  #questions = 0;
  #asking: Promise<ServerAbilities> | null = null;

  constructor(
    ports: GitServerPorts,
    asker: Asker,
    path: string,
    limits: GitServerLimits,
    memory: Memory,
    key: string,
    budget: WorkBudget,
  ) {
    this.#budget = budget;
    this.#ports = ports;
    this.#asker = asker;
    this.#path = path;
    this.#limits = limits;
    this.#memory = memory;
    this.#key = key;
  }

  async refs(prefixes: readonly string[]): Promise<readonly RemoteRef[]> {
    if (prefixes.length === 0) return [];
    return this.#inOurWords(async () => {
      const abilities = await this.#abilities();
      const body = renderLsRefsRequest(prefixes, abilities);
      const reader = new LsRefsReader(prefixes, this.#budget);
      await this.#ask(uploadPack(this.#path, body, this.#limits.maxRefsBytes), (chunk) => reader.feed(chunk));
      return reader.end();
    });
  }

  async commits(wants: readonly string[], haves: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
    if (wants.length === 0) return new Map();
    return this.#inOurWords(async () => {
      const { filter } = await this.#abilities();
      const question: FetchQuestion = { wants, haves, ...(filter ? { filter: 'tree:0' } : {}) };
      return this.#fetch(question, async ({ commits, shallow }) => {
        if (shallow.some((id) => commits.has(id))) {
          throw new GitWireError(
            'unsupported',
            'the repository on the git server is shallow: its history cannot be read',
          );
        }
        return commits;
      });
    });
  }

  async known(tip: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#inOurWords(async () => {
      const abilities = await this.#abilities();
      const found = new Set<string>();
      for (let at = 0; at < ids.length; at += havesPerQuestion) {
        const asked = ids.slice(at, at + havesPerQuestion);
        const reader = new AcknowledgmentReader(asked);
        const body = renderHaveQuestion(tip, asked, abilities);
        await this.#ask(uploadPack(this.#path, body, this.#limits.maxPackBytes), (chunk) => reader.feed(chunk));
        for (const id of reader.end()) found.add(id);
      }
      return found;
    });
  }

  async objects(ids: readonly string[]): Promise<ReadonlyMap<string, RemoteObject>> {
    return this.#inOurWords(async () => {
      const found = new Map<string, RemoteObject>();
      const unique = [...new Set(ids)];
      // Until all are there; then they are the asker's to keep.
      const budget = this.#budget.part();
      try {
        for (let at = 0; at < unique.length; at += idsPerQuestion) {
          await this.#collect(unique.slice(at, at + idsPerQuestion), found, budget);
        }
        return found;
      } finally {
        budget.close();
      }
    });
  }

  /**
   * Under `tree:0`, git leaves out a wanted object that it first met as part of another wanted one (the tree of a commit,
   * a file of a tree). It comes when it is asked for without the other, or before it: hence the order is turned round.
   */
  async #collect(ids: readonly string[], found: Map<string, RemoteObject>, budget: WorkBudget): Promise<void> {
    const { filter, shallow } = await this.#abilities();
    let missing = ids;
    for (let round = 0; missing.length > 0; round++) {
      if (round === maxRounds) throw new GitWireError('too-large', 'objects nested too deeply to be asked for by id');
      const wants = missing;
      const question: FetchQuestion = {
        wants,
        ...(filter ? { filter: 'tree:0' } : {}),
        ...(shallow ? { depth: 1 } : {}),
      };
      const some = await this.#fetch(question, (fetched) => fetched.find(wants));
      if (some.size === 0) throw new GitWireError('malformed', 'the git server left out objects that it was asked for');
      for (const [id, object] of some) {
        budget.hold(object.content.length + objectBytes);
        found.set(id, object);
      }
      missing = wants.filter((id) => !some.has(id)).reverse();
    }
  }

  async #fetch<T>(question: FetchQuestion, read: (fetched: Fetched) => Promise<T>): Promise<T> {
    const budget = this.#budget.part();
    const store = new PackStore(this.#limits.maxMemoryBytes, () => this.#ports.spool.open(), budget);
    const pack = new FetchedPack(store, this.#limits, budget);
    try {
      const body = renderFetchRequest(question, await this.#abilities());
      // Side-bands add five bytes in up to 65,520, or in far fewer.
      const asked = uploadPack(this.#path, body, this.#limits.maxPackBytes * 2);
      await this.#ask(asked, (chunk) => pack.feed(chunk));
      return await read(await pack.end());
    } finally {
      pack.destroy();
      budget.close();
      await store.close();
    }
  }

  async #abilities(): Promise<ServerAbilities> {
    const known = this.#memory.get(this.#key);
    if (known !== undefined) return known;
    // Several questions may begin at once: they wait for the same answer.
    this.#asking ??= this.#askAbilities();
    return this.#asking;
  }

  async #askAbilities(): Promise<ServerAbilities> {
    const budget = this.#budget.part();
    const reader = new AdvertisementReader({ maxBytes: maxAdvertisementBytes }, budget);
    try {
      await this.#ask(advertisement(this.#path), (chunk) => reader.feed(chunk));
      const abilities = abilitiesOf(reader.end());
      this.#memory.set(this.#key, abilities);
      return abilities;
    } finally {
      budget.close();
    }
  }

  #ask(question: UpstreamQuestion, take: (chunk: Buffer) => Promise<void> | void): Promise<void> {
    if (++this.#questions > maxQuestions) {
      throw new OverBudget(`judging this push takes more than ${maxQuestions} questions to the server`);
    }
    return askUpstream(this.#ports, this.#asker, question, take);
  }

  /** What the server said is for the operator; and what is wrong is its answer, not the push. */
  async #inOurWords<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { host } = this.#asker.flow.canonical;
      if (error instanceof GitRemoteError) {
        throw new Refusal(
          'push.undecided',
          `this push cannot be judged: ${host} could not answer what the gateway asked about it`,
          {
            rule: 'built-in: a push is judged by what it would change',
            hint: 'Fetch, so that your clone knows what the server has, and push again.',
            cause: error,
          },
        );
      }
      if (error instanceof SpoolFull) {
        throw new Refusal('limit.push-size', 'the gateway has no room left to judge this push', {
          rule: 'limits.spool_bytes',
          hint: 'Try again when other pushes are done.',
          cause: error,
        });
      }
      if (!(error instanceof GitWireError) || error instanceof OverBudget) throw error;
      throw new GitWireError(error.code, `the answer of ${host} about this push cannot be used: ${error.message}`);
    }
  }
}

function advertisement(path: string): UpstreamQuestion {
  return {
    operation: 'advertise-upload',
    method: 'GET',
    target: `${path}/info/refs?service=git-upload-pack`,
    headers: [version2, ['Accept', '*/*']],
    body: null,
    answerType: 'application/x-git-upload-pack-advertisement',
    maxAnswerBytes: maxAdvertisementBytes,
  };
}

function uploadPack(path: string, body: Buffer, maxAnswerBytes: number): UpstreamQuestion {
  const answerType = 'application/x-git-upload-pack-result';
  return {
    operation: 'upload-pack',
    method: 'POST',
    target: `${path}/git-upload-pack`,
    headers: [version2, ['Accept', answerType], ['Content-Type', 'application/x-git-upload-pack-request']],
    body,
    answerType,
    maxAnswerBytes,
  };
}
