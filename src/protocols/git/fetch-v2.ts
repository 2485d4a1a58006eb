// The questions the gateway itself asks an upstream in protocol version 2: give me these objects (or only the commits
// between two points), and which refs are there. Built from ids and names that are checked again here, because a line
// feed in one of them would be another line of the request.
import type { Advertisement } from './advertisement.ts';
import { GitRemoteError } from './git-remote-error.ts';
import { GitWireError } from './git-wire-error.ts';
import { WorkBudget } from './objects/work-budget.ts';
import { delimPkt, encodePkt, flushPkt, PktReader } from './pkt-line.ts';
import { decodeText, isObjectId, isRefName } from './ref-name.ts';

export interface FetchQuestion {
  readonly wants: readonly string[];
  /** Commits whose history is not to be sent. */
  readonly haves?: readonly string[];
  /** `tree:0`: commits alone. `blob:none`: commits and trees. Without it, everything. */
  readonly filter?: 'tree:0' | 'blob:none';
  /** Of a wanted commit the commit itself, without its parents. */
  readonly depth?: 1;
}

/** What a server said it understands: one that is told anything else ends the conversation. */
export interface ServerAbilities {
  readonly filter: boolean;
  readonly shallow: boolean;
  readonly agent: boolean;
  readonly objectFormat: boolean;
}

export interface RemoteRef {
  readonly name: string;
  readonly id: string;
  /** What a tag leads to, when it was asked for. */
  readonly peeled: string | null;
  readonly symrefTarget: string | null;
}

type Introduction = Pick<ServerAbilities, 'agent' | 'objectFormat'>;

const AGENT = 'agent=sallyport';
const everything: Introduction = { agent: true, objectFormat: true };

/** What can be asked of the server that advertised this. One of which nothing can be asked is an error. */
export function abilitiesOf({ version, capabilities }: Advertisement): ServerAbilities {
  const valuesOf = (key: string): readonly string[] | null => {
    const found = capabilities.find((word) => word === key || word.startsWith(`${key}=`));
    return found === undefined ? null : found.slice(key.length + 1).split(' ');
  };
  const fetch = valuesOf('fetch');
  if (version !== 2 || fetch === null || valuesOf('ls-refs') === null) {
    throw new GitWireError(
      'unsupported',
      'the git server does not speak version 2 of the protocol of git, without which it cannot be asked what a push would change; it needs git 2.18 or later',
    );
  }
  const formats = valuesOf('object-format');
  if (formats !== null && !formats.includes('sha1')) {
    throw new GitWireError('unsupported', 'the repository names its objects by SHA-256; only SHA-1 is understood');
  }
  return {
    filter: fetch.includes('filter'),
    shallow: fetch.includes('shallow'),
    agent: valuesOf('agent') !== null,
    objectFormat: formats !== null,
  };
}

/** Sent in one go with `done`, so that the answer is the pack, with no negotiation. */
export function renderFetchRequest(question: FetchQuestion, to: Introduction = everything): Buffer {
  const { wants, haves = [], filter, depth } = question;
  if (wants.length === 0) throw new GitWireError('malformed', 'a fetch that wants nothing');
  return Buffer.concat([
    ...command('fetch', to),
    // Deltas against bases in the same pack by offset are smaller; bases outside it (thin-pack) are not asked for.
    ...['ofs-delta', 'no-progress'].map((word) => encodePkt(`${word}\n`)),
    ...(depth === undefined ? [] : [encodePkt(`deepen ${depth}\n`)]),
    ...(filter === undefined ? [] : [encodePkt(`filter ${filter}\n`)]),
    ...wants.map((id) => encodePkt(`want ${checked(id)}\n`)),
    ...haves.map((id) => encodePkt(`have ${checked(id)}\n`)),
    encodePkt('done\n'),
    flushPkt,
  ]);
}

/** Without `done`: the server says which of `haves` it knows. It must be asked for something, so for a tip it has. */
export function renderHaveQuestion(want: string, haves: readonly string[], to: ServerAbilities): Buffer {
  return Buffer.concat([
    ...command('fetch', to),
    encodePkt('no-progress\n'),
    ...(to.filter ? [encodePkt('filter tree:0\n')] : []),
    encodePkt(`want ${checked(want)}\n`),
    ...haves.map((id) => encodePkt(`have ${checked(id)}\n`)),
    flushPkt,
  ]);
}

/** Refs that begin with one of `prefixes` (all, without any); tags with what they lead to. */
export function renderLsRefsRequest(prefixes: readonly string[], to: Introduction = everything): Buffer {
  for (const prefix of prefixes) {
    if (!isRefName(`${prefix}x`)) throw new GitWireError('malformed', 'a prefix that cannot begin the name of a ref');
  }
  return Buffer.concat([
    ...command('ls-refs', to),
    encodePkt('peel\n'),
    encodePkt('symrefs\n'),
    ...prefixes.map((prefix) => encodePkt(`ref-prefix ${prefix}\n`)),
    flushPkt,
  ]);
}

/** What a ref takes in memory besides its name. */
const REF_BYTES = 400;

/**
 * An answer to ls-refs as it arrives. A server need not keep to a prefix and may send others as well (gitprotocol-v2): only refs
 * that begin with one of `prefixes` are kept.
 */
export class LsRefsReader {
  readonly #lines = new PktReader('v2');
  readonly #refs: RemoteRef[] = [];
  readonly #prefixes: readonly string[];
  readonly #budget: WorkBudget;
  #isWhole = false;

  constructor(prefixes: readonly string[], budget = new WorkBudget()) {
    this.#prefixes = prefixes;
    this.#budget = budget;
  }

  feed(chunk: Buffer): void {
    this.#budget.spend(chunk.length * 4);
    this.#lines.add(chunk);
    for (let pkt = this.#lines.next(); pkt !== null; pkt = this.#lines.next()) {
      if (this.#isWhole) throw new GitWireError('malformed', 'the list of refs goes on after its end');
      if (pkt.kind === 'flush') this.#isWhole = true;
      else if (pkt.kind === 'data') this.#take(pkt.payload);
      else throw new GitWireError('malformed', 'the list of refs has another section in it');
    }
  }

  end(): RemoteRef[] {
    if (!this.#isWhole || this.#lines.rest().length > 0) {
      throw new GitWireError('malformed', 'the list of refs is cut short');
    }
    return this.#refs;
  }

  #take(payload: Buffer): void {
    if (payload.subarray(0, 4).toString('latin1') === 'ERR ') throw new GitRemoteError(payload.subarray(4));
    const ref = readRef(decodeText(payload, 'a line of the list of refs').replace(/\n$/, ''));
    if (!this.#prefixes.some((prefix) => ref.name.startsWith(prefix))) return;
    this.#budget.hold(REF_BYTES + payload.length);
    this.#refs.push(ref);
  }
}

/** A whole answer to ls-refs. */
export function parseLsRefs(bytes: Buffer): RemoteRef[] {
  const reader = new LsRefsReader(['']);
  reader.feed(bytes);
  return reader.end();
}

function readRef(text: string): RemoteRef {
  const [id, name, ...attributes] = text.split(' ');
  if (id === undefined || !isObjectId(id) || name === undefined || name === '') {
    throw new GitWireError('malformed', 'the list of refs has a line that is not "id ref"');
  }
  const attribute = (key: string): string | null =>
    attributes.find((word) => word.startsWith(key))?.slice(key.length) ?? null;
  const peeled = attribute('peeled:');
  if (peeled !== null && !isObjectId(peeled)) {
    throw new GitWireError('malformed', 'the list of refs has a tag peeled to something that is no object id');
  }
  return { name, id, peeled, symrefTarget: attribute('symref-target:') };
}

function command(name: 'fetch' | 'ls-refs', to: Introduction): Buffer[] {
  return [
    encodePkt(`command=${name}\n`),
    ...(to.agent ? [encodePkt(`${AGENT}\n`)] : []),
    ...(to.objectFormat ? [encodePkt('object-format=sha1\n')] : []),
    delimPkt,
  ];
}

function checked(id: string): string {
  if (!isObjectId(id)) throw new GitWireError('malformed', 'a question about something that is no object id');
  return id;
}
