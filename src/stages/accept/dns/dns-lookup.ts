// A DNS question on the path: the same stages decide who asks and whether the name may be known, so that DNS and doors
// can never disagree about the allowlist. Decides nothing and remembers no verdict: only what was written down lately.
import { NewestMap } from '../../../kit/newest-map.ts';
import type { Exchange } from '../../../path/exchange/exchange.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Caller, CanonicalRequest, RawRequest } from '../../../path/flow.ts';
import { madeRequest } from '../../../path/made-request.ts';
import { Refusal } from '../../../path/refusal.ts';
import { canonicalHost } from '../canonical-host.ts';
import type { DnsPorts } from './dns-door.ts';
import { DnsExchange } from './dns-exchange.ts';
import type { CountQuestion } from './dns-limits.ts';
import { isToldInWords } from './dns-unknown.ts';

interface LookupArrival {
  readonly caller: Caller;
  readonly request: RawRequest;
  readonly exchange: Exchange;
}

/** The path up to the decision, with and without a record of a no. */
export interface LookupPath {
  /** Null: refused, and written down. */
  admit(arrival: LookupArrival): object | null;
  /** The same decision, of which nothing is written down: why not; null: it is admitted. */
  whyNot(arrival: LookupArrival): Refusal | null;
  countQuestion: CountQuestion;
}

/** Resolvers ask again and again: one record in this time says it. */
const quietMs = 60_000;
const maxRemembered = 256;
const neverInWords = (): boolean => false;

/**
 * `caller`: one object for all its questions, so that its identity is looked up once. `inWords`: whether a name that is not
 * allowed has an address, where its client is told so.
 */
export function createLookup(
  path: LookupPath,
  caller: Caller,
  inWords: () => boolean = neverInWords,
  nowMs = () => performance.now(),
): DnsPorts {
  const recorded = new RecentKeys(nowMs);
  const isAllowed = (name: string): boolean =>
    path.whyNot({ caller, request: lookupRequest(name, 'A'), exchange: new DnsExchange() }) === null;
  // Any other no (an unknown caller, a name with two readings, a full journal) says nothing about the name.
  const refused = (code: string | null, name: string): false | 'in-words' =>
    code === 'domain.not-allowed' && inWords() && isToldInWords(name, isAllowed) ? 'in-words' : false;

  return {
    lookup(name, type) {
      const exchange = new DnsExchange();
      const arrival = { caller, request: lookupRequest(name, type), exchange };
      const key = name.toLowerCase();
      // The decision is made each time: a name that a changed policy allows is found at once.
      if (recorded.has(key)) {
        const why = path.whyNot(arrival);
        return why === null || refused(why.code, name);
      }
      if (path.admit(arrival) !== null) return true;
      // Our own fault says nothing about the name: the client may ask again.
      if (exchange.status >= 500) throw new Error('the gateway could not decide whether this name may be known');
      recorded.add(key);
      return refused(exchange.code, name);
    },
    over: () => path.countQuestion(caller),
    flooded: (why) => recordFlood(path, caller, why),
  };
}

/** The same, telling which names it gave an address for. */
export function noting(ports: DnsPorts, given: (name: string) => void): DnsPorts {
  return {
    ...ports,
    lookup(name, type) {
      const answer = ports.lookup(name, type);
      if (answer !== false && (type === 'A' || type === 'AAAA')) given(name);
      return answer;
    },
  };
}

/** A flood has no name and no one question: it is written down as what it is. */
export function recordFlood(path: Pick<LookupPath, 'admit'>, caller: Caller, fault: Refusal): void {
  path.admit({ caller, request: { ...lookupRequest('*', 'ANY'), fault }, exchange: new DnsExchange() });
}

/** One question is written down as refused, or would be: nothing is answered with it. */
export function recordQuestion(path: Pick<LookupPath, 'admit'>, caller: Caller, name: string, type: string): void {
  path.admit({ caller, request: lookupRequest(name, type), exchange: new DnsExchange() });
}

/** What was written down lately (names, addresses); the oldest goes when there is no room. */
export class RecentKeys {
  readonly #untilMs = new NewestMap<string, number>(maxRemembered);
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  has(key: string): boolean {
    return (this.#untilMs.get(key) ?? Number.NEGATIVE_INFINITY) > this.#nowMs();
  }

  add(key: string): void {
    this.#untilMs.set(key, this.#nowMs() + quietMs);
  }
}

/** The target is the name, a slash and the type: `api.example.com/AAAA`. A name may hold a slash, a type does not. */
function lookupRequest(name: string, type: string): RawRequest {
  return { ...madeRequest('https', 'DNS', `${name}/${type}`, new HeaderList()), kind: 'lookup' };
}

/** The canonical form of a question: the name alone decides, so port and scheme are those of a plain https URL. */
export function canonicalLookup(request: RawRequest): CanonicalRequest {
  const slash = request.target.lastIndexOf('/');
  const name = request.target.slice(0, slash);
  // In DNS names are ASCII; one that has to be read as something else first has two readings.
  if (/\P{ASCII}/u.test(name)) {
    throw new Refusal('malformed.host', `${JSON.stringify(name)} is not a host name`, {
      hint: 'Look it up in its ASCII form (xn--…).',
    });
  }
  const path = request.target.slice(slash);
  return {
    scheme: 'https',
    host: canonicalHost(name),
    port: 443,
    method: 'DNS',
    path,
    rawPath: path,
    query: null,
    kind: 'lookup',
  };
}
