// Whether a merged journal still holds each of its chains whole, from where it begins to where its journal ended, or where
// it first does not. Reads the one file alone: the gateways and their disks may be far away or gone.
import { genesis, hashLine, readLink } from './journal-files.ts';
import { LineReader, LineTooLongError } from './line-reader.ts';

export type MergedVerification =
  | {
      readonly ok: true;
      readonly records: number;
      readonly gateways: readonly { readonly name: string; readonly records: number; readonly lastSeq: number }[];
    }
  | { readonly ok: false; readonly line: number; readonly gateway: string | null; readonly message: string };

interface Chain {
  first: number;
  seq: number;
  hash: string;
  records: number;
  ended: boolean;
}

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
  for (const name of names) chains.set(name, { first: 0, seq: 0, hash: genesis, records: 0, ended: false });
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
  if (end !== null) {
    endChain(name, chain, Number(end[1]), Number(end[2]), end[3]!);
    return;
  }
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
  chain.seq = link.seq;
  chain.hash = hashLine(own);
  chain.records++;
}

function endChain(name: string, chain: Chain, first: number, last: number, hash: string): void {
  if (chain.first !== first)
    throw new MergedBreak(name, `${name} began with record ${first}: the beginning is missing`);
  if (chain.seq !== last) throw new MergedBreak(name, `${name} ended with record ${last}: records are missing`);
  if (chain.hash !== hash) throw new MergedBreak(name, `the last record of ${name} is not the one that its end names`);
  chain.ended = true;
}
