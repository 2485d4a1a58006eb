// A refused push in git's own words: `remote:` lines that say why, and `ng` for every ref, so that the client prints
// "! [remote rejected]". One refusal refuses the whole push, so no ref is ever reported as done.
import { encodePkt, flushPkt, MAX_PKT_PAYLOAD } from './pkt-line.ts';
import { characterEnd, cutToBytes, printableText } from './printable-text.ts';
import type { PushCommand } from './push-command.ts';

export interface RefusedPush {
  /** As the client sent them: they say in which form it can read an answer. */
  readonly capabilities: ReadonlySet<string>;
  readonly commands: readonly PushCommand[];
  /** What a person reads after `remote:`; a line feed begins another line. */
  readonly messages: readonly string[];
  /** Why, by ref, in a few words. Refs without one are refused because of the others. */
  readonly reasons: ReadonlyMap<string, string>;
}

const PACK_BAND = 1;
const TEXT_BAND = 2;
/** gitprotocol-capabilities: side-band packets hold 999 bytes and their band, with the length 1000 in all. */
const SMALL_BAND_BYTES = 995;
const MAX_REASON_BYTES = 400;
const BECAUSE_OF_OTHERS = 'not done: another ref of this push was refused';

/** The body of a `git-receive-pack` answer; null when the client asked for no report: then only a status can say no. */
export function renderRefusedPush(refused: RefusedPush): Buffer | null {
  const { capabilities } = refused;
  if (!capabilities.has('report-status') && !capabilities.has('report-status-v2')) return null;
  const report = renderReport(refused);
  const bandBytes = bandSize(capabilities);
  if (bandBytes === 0) return report;
  const text = refused.messages.flatMap((message) => message.split(/\r?\n/)).map((line) => `${printableText(line)}\n`);
  return Buffer.concat([
    ...text.flatMap((line) => onBand(TEXT_BAND, line, bandBytes)),
    ...onBand(PACK_BAND, report, bandBytes),
    flushPkt,
  ]);
}

function bandSize(capabilities: ReadonlySet<string>): number {
  if (capabilities.has('side-band-64k')) return MAX_PKT_PAYLOAD - 1;
  return capabilities.has('side-band') ? SMALL_BAND_BYTES : 0;
}

/** `unpack ok`, because nothing is wrong with the pack: with anything else git would not show the reasons. */
function renderReport({ commands, reasons }: RefusedPush): Buffer {
  const lines = commands.map(({ ref }) => {
    const start = `ng ${ref} `;
    const room = Math.min(MAX_REASON_BYTES, MAX_PKT_PAYLOAD - Buffer.byteLength(start) - 1);
    const reason = printableText(reasons.get(ref) ?? BECAUSE_OF_OTHERS).trim();
    return encodePkt(`${start}${cutToBytes(reason === '' ? 'refused' : reason, room)}\n`);
  });
  return Buffer.concat([encodePkt('unpack ok\n'), ...lines, flushPkt]);
}

/** Text is cut between characters, so that each packet prints by itself; the report is bytes and may be cut anywhere. */
function onBand(band: number, content: string | Buffer, bandBytes: number): Buffer[] {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end =
      typeof content === 'string' ? characterEnd(bytes, at + bandBytes) : Math.min(at + bandBytes, bytes.length);
    packets.push(encodePkt(Buffer.concat([Buffer.from([band]), bytes.subarray(at, end)])));
    at = end;
  }
  return packets;
}
