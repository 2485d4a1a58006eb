// Whether a merged journal still holds each of its chains whole, from where it begins to where its journal ended, or where
// it first does not. Reads the one file alone: the gateways and their disks may be far away or gone.
import { genesis, hashLine, readLink, readTime } from './journal-files.ts';
import { LineReader, LineTooLongError } from './line-reader.ts';

export type MergedVerification =
  | {
      readonly ok: true;
      readonly records: number;
      readonly gateways: readonly { readonly name: string; readonly records: number; readonly lastSeq: number }[];
    }
  | { readonly ok: false; readonly line: number; readonly gateway: string | null; readonly message: string };

interface Chain {
  /** Its place among the gateways: of two records of the same moment that of the first comes first. */
  readonly index: number;
  time: string;
  /** The latest of what the others have had since its last record. Its next one is not earlier, or it would stand before. */
  after: Moment | null;
  first: number;
  seq: number;
  hash: string;
  records: number;
  ended: boolean;
}

type Moment = Pick<Chain, 'index' | 'time'>;

const gatewayPrefix = /^\{"gateway":"([A-Za-z0-9._-]{1,64})",/;
const endLine = /^\{"gateway":"[^"]*","first":(\d{1,15}),"end":(\d{1,15}),"hash":"([0-9a-f]{64})"\}$/;

class MergedBreak extends Error {
  readonly gateway: string | null;

  constructor(gateway: string | null, message: string) {
    super(message);
    this.gateway = gateway;
  }
}

export async function verifyMerged(path: string): Promise<MergedVerification> {
  const chains = new Map<string, Chain>();
  const reader = await LineReader.open(path);
  let number = 0;
  try {
    for (let lines = await reader.next(); lines !== null; lines = await reader.next()) {
      for (const line of lines) {
        number++;
        if (number === 1) begin(line, chains);
        else follow(line, chains);
      }
    }
    if (reader.tornBytes > 0) throw new MergedBreak(null, 'the last line is not whole');
    if (number === 0) throw new MergedBreak(null, 'the file is empty: it is not a merged journal');
    for (const [name, chain] of chains) {
      if (!chain.ended) throw new MergedBreak(name, `the end of ${name} is missing: the file was cut off`);
    }
  } catch (error) {
    if (error instanceof MergedBreak)
      return { ok: false, line: number, gateway: error.gateway, message: error.message };
    if (error instanceof LineTooLongError)
      return { ok: false, line: number + 1, gateway: null, message: error.message };
    throw error;
  } finally {
    await reader.close();
  }
  const gateways = [...chains].map(([name, { records, seq }]) => ({ name, records, lastSeq: seq }));
  return { ok: true, records: gateways.reduce((sum, { records }) => sum + records, 0), gateways };
}

function begin(line: Buffer, chains: Map<string, Chain>): void {
  let names: unknown;
  try {
    names = (JSON.parse(line.toString('utf8')) as { merged?: unknown }).merged;
  } catch {
    names = null;
  }
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw new MergedBreak(null, 'the first line does not name the gateways: this is not a merged journal');
  }
  if (
    names.length === 0 ||
    new Set(names).size < names.length ||
    line.toString('utf8') !== JSON.stringify({ merged: names })
  )
    throw new MergedBreak(null, 'the first line is not as a merge writes it: it was edited');
  for (const [index, name] of names.entries()) {
    chains.set(name, { index, time: '', after: null, first: 0, seq: 0, hash: genesis, records: 0, ended: false });
  }
}

function follow(line: Buffer, chains: Map<string, Chain>): void {
  const prefix = gatewayPrefix.exec(line.toString('latin1', 0, 96));
  const name = prefix?.[1] ?? null;
  const chain = name === null ? undefined : chains.get(name);
  if (prefix === null || name === null || chain === undefined) {
    throw new MergedBreak(name, 'this line belongs to none of the gateways that the first line names');
  }
  if (chain.ended) throw new MergedBreak(name, `a line of ${name} comes after its end`);
  const end = endLine.exec(line.toString('latin1'));
  const ended = [...chains].filter(([, one]) => one.ended);
  if (end !== null) {
    const next = [...chains].find(([, one]) => !one.ended)!;
    if (next[1] !== chain) throw new MergedBreak(next[0], `the end of ${next[0]} should be here: it is missing`);
    endChain(name, chain, Number(end[1]), Number(end[2]), end[3]!);
    const twin = chain.records === 0 ? undefined : ended.find(([, one]) => one.hash === chain.hash);
    if (twin !== undefined)
      throw new MergedBreak(name, `${name} has the very records of ${twin[0]}: its own are missing`);
    return;
  }
  if (ended.length > 0) throw new MergedBreak(name, `a record of ${name} stands behind the ends`);
  // As it stands in the journal of its gateway.
  const own = Buffer.concat([Buffer.from('{'), line.subarray(prefix[0].length)]);
  const link = readLink(own);
  if (link === null) throw new MergedBreak(name, 'this line is not a record');
  if (chain.records === 0) {
    chain.first = link.seq;
    if (link.seq === 1 && link.prev !== genesis) throw new MergedBreak(name, 'the first record does not begin a chain');
  } else if (link.seq !== chain.seq + 1) {
    throw new MergedBreak(name, `record ${chain.seq + 1} of ${name} should be here, not record ${link.seq}`);
  } else if (link.prev !== chain.hash) {
    throw new MergedBreak(
      name,
      `record ${chain.seq} of ${name} does not have the hash that record ${link.seq} remembers`,
    );
  }
  keepOrder(name, chain, readTime(own), link.seq, chains);
  chain.seq = link.seq;
  chain.hash = hashLine(own);
  chain.records++;
}

/** The chains fix what a merge makes of them, so that no line can stand elsewhere: see `earliest` in merge.ts. */
function keepOrder(name: string, chain: Chain, time: string | null, seq: number, chains: Map<string, Chain>): void {
  chain.time = time ?? chain.time;
  if (chain.after !== null && isBefore(chain, chain.after)) {
    throw new MergedBreak(name, `record ${seq} of ${name} belongs further up: lines were moved`);
  }
  const moment = { index: chain.index, time: chain.time };
  for (const one of chains.values()) if (one.after === null || isBefore(one.after, moment)) one.after = moment;
  chain.after = null;
}

function isBefore(a: Moment, b: Moment): boolean {
  return a.time < b.time || (a.time === b.time && a.index < b.index);
}

function endChain(name: string, chain: Chain, first: number, last: number, hash: string): void {
  if (chain.first !== first)
    throw new MergedBreak(name, `${name} began with record ${first}: the beginning is missing`);
  if (chain.seq !== last) throw new MergedBreak(name, `${name} ended with record ${last}: records are missing`);
  if (chain.hash !== hash) throw new MergedBreak(name, `the last record of ${name} is not the one that its end names`);
  chain.ended = true;
}
