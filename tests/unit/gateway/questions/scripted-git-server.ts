// The gateway's questions to a git server that says what a test wants, byte by byte, and remembers what it was asked.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitServer, type GitServerPorts } from '../../../../src/gateway/questions/git-server.ts';
import { Spool } from '../../../../src/kit/files/spool.ts';
import type { BodyWriter } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../src/path/exchange/outgoing-request.ts';
import type { Injected } from '../../../../src/path/flow.ts';
import { oidOf } from '../../../../src/protocols/git/objects/object-id.ts';
import type { WorkBudget } from '../../../../src/protocols/git/objects/work-budget.ts';
import { encodePkt, flushPkt, PktReader } from '../../../../src/protocols/git/pkt-line.ts';
import type { GitServer } from '../../../../src/stages/authorize/git/git-server.ts';
import { afterThisFile } from '../../../support/after-this-file.ts';
import { pushTo } from '../../../support/asked-git-server.ts';
import { type Part, packOf } from '../../protocols/git/objects/pack-builder.ts';

const modern = ['version 2', 'agent=git/2.39.5', 'ls-refs=unborn', 'fetch=shallow filter', 'object-format=sha1'];
export const COMMIT = 1;
export const BLOB = 3;
export const REF_DELTA = 7;
export const blob = (text: string): string => oidOf('blob', Buffer.from(text));
export const lines = (...words: string[]): Buffer =>
  Buffer.concat([...words.map((word) => encodePkt(`${word}\n`)), flushPkt]);
export function packAnswer(...parts: Part[]): Buffer {
  const pack = packOf(parts);
  const pieces = [encodePkt('packfile\n')];
  for (let at = 0; at < pack.length; at += 60_000) {
    pieces.push(encodePkt(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 60_000)])));
  }
  return Buffer.concat([...pieces, flushPkt]);
}

interface Scene {
  readonly advertisement?: readonly string[];
  /** Bytes, or what it does itself with the writer of the answer. */
  readonly answer?: (asked: string[]) => Buffer | ((to: BodyWriter) => Promise<void>);
  readonly limits?: GitServerPorts['limits'];
  readonly spoolBytes?: number;
}

/** A far side that says what the test wants, and what it was asked: lines of each POST. */
export function stage(scene: Scene) {
  const asked: string[][] = [];
  const seen: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), 'git-server-'));
  afterThisFile(() => rmSync(directory, { recursive: true, force: true }));
  const spool = new Spool(directory, () => scene.spoolBytes ?? 1_000_000);
  const say = async (flow: Injected): Promise<void> => {
    const { method } = flow.canonical;
    seen.push(method);
    const kind = method === 'GET' ? 'advertisement' : 'result';
    const headers = HeaderList.from([['Content-Type', `application/x-git-upload-pack-${kind}`]]);
    let said: ReturnType<NonNullable<Scene['answer']>> = lines(...(scene.advertisement ?? modern));
    if (method === 'POST') {
      asked.push(linesOf(flow));
      said = scene.answer?.(asked.at(-1)!) ?? flushPkt;
    }
    const writer = flow.exchange.respond({ status: 200, reason: '', headers, framing: { kind: 'chunked' } });
    if (typeof said === 'function') return said(writer);
    writer.write(said);
    writer.end(null);
  };
  const openServer = createGitServer({
    spool,
    ...(scene.limits === undefined ? {} : { limits: scene.limits }),
    inject: {
      name: 'inject',
      run: (flow) => ({ ...flow, outgoing: new OutgoingRequest('', new HeaderList()), injected: null }),
    },
    forward: {
      name: 'forward',
      run: (flow) => say(flow).then(() => ({ ...flow, status: 200, upstreamAddress: null })),
    },
  });
  const open = (sandbox = 'sbx_test', signal = new AbortController().signal, budget?: WorkBudget): GitServer => {
    const { flow, permission } = pushTo('acme/widgets', '/acme/widgets', sandbox);
    return openServer(flow, permission, signal, budget);
  };
  return { open, asked, seen, spool };
}

function linesOf(flow: Injected): string[] {
  const pieces: Buffer[] = [];
  flow.exchange.sendBody({
    write: (chunk) => pieces.push(chunk) > 0,
    flush: () => {},
    end: () => {},
    fail: () => {},
    onDrain: null,
  });
  const pkts = new PktReader('v2').feed(Buffer.concat(pieces));
  return pkts.map((pkt) => (pkt.kind === 'data' ? pkt.payload.toString().trim() : pkt.kind));
}
