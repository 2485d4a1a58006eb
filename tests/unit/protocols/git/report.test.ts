import { describe, expect, test } from 'vitest';
import { PktReader } from '../../../../src/protocols/git/pkt-line.ts';
import { renderRefusedPush } from '../../../../src/protocols/git/report.ts';

const id = 'a'.repeat(40);
const commands = ['refs/heads/main', 'refs/heads/two'].map((ref) => ({ oldId: id, newId: id, ref }));
const reasons = new Map([['refs/heads/main', 'protected branch']]);
const reportLines = ['unpack ok\n', 'ng refs/heads/main protected branch\n'];

/** What stands on each band, and how large the packets were. */
function bands(body: Buffer): { text: string; report: Buffer; largest: number; packets: string[] } {
  const pkts = new PktReader().feed(body);
  expect(pkts.pop()).toEqual({ kind: 'flush' });
  const on = (band: number): Buffer[] =>
    pkts.flatMap((pkt) => (pkt.kind === 'data' && pkt.payload[0] === band ? [pkt.payload.subarray(1)] : []));
  const sizes = pkts.map((pkt) => (pkt.kind === 'data' ? pkt.payload.length + 4 : 4));
  return {
    text: Buffer.concat(on(2)).toString(),
    report: Buffer.concat(on(1)),
    largest: Math.max(...sizes),
    packets: on(2).map(String),
  };
}

function linesOf(report: Buffer): string[] {
  const pkts = new PktReader().feed(report);
  expect(pkts.pop()).toEqual({ kind: 'flush' });
  return pkts.map((pkt) => (pkt.kind === 'data' ? pkt.payload.toString() : pkt.kind));
}

describe('a refused push is answered in words that git shows', () => {
  test.each(['report-status', 'report-status-v2'])('every ref is refused, with %s and a side band', (capability) => {
    const body = renderRefusedPush({
      capabilities: new Set([capability, 'side-band-64k']),
      commands,
      messages: ['main is protected', 'push a branch instead'],
      reasons,
    });
    const { text, report } = bands(body!);
    expect(text).toBe('main is protected\npush a branch instead\n');
    expect(linesOf(report)).toEqual([
      ...reportLines,
      'ng refs/heads/two not done: another ref of this push was refused\n',
    ]);
  });

  test('a client without a side band still gets its report', () => {
    const body = renderRefusedPush({ capabilities: new Set(['report-status']), commands, messages: ['lost'], reasons });
    expect(linesOf(body!).slice(0, 2)).toEqual(reportLines);
  });

  test('a client that asked for no report gets none', () => {
    expect(renderRefusedPush({ capabilities: new Set(['side-band-64k']), commands, messages: [], reasons })).toBeNull();
  });

  test('nothing in a message or a reason moves the cursor or begins another line of the report', () => {
    const body = renderRefusedPush({
      capabilities: new Set(['report-status', 'side-band-64k']),
      commands: commands.slice(0, 1),
      messages: ['a\x1b[2J\x9bb\u202ec\r\nd\te', 'half \ud800'],
      reasons: new Map([['refs/heads/main', 'x\nok refs/heads/main']]),
    });
    const { text, report } = bands(body!);
    expect(text).toBe('a[2Jbc\nd e\nhalf \ufffd\n');
    expect(linesOf(report)).toEqual(['unpack ok\n', 'ng refs/heads/main xok refs/heads/main\n']);
  });

  test.each([
    ['side-band-64k', 65520],
    ['side-band', 1000],
  ] as const)('long text and many refs stay within the packets of %s', (capability, limit) => {
    const many = Array.from({ length: 3000 }, (_, i) => ({ oldId: id, newId: id, ref: `refs/heads/${i}` }));
    const message = 'é€😀'.repeat(30_000);
    const body = renderRefusedPush({
      capabilities: new Set(['report-status', capability]),
      commands: many,
      messages: [message],
      reasons: new Map(),
    });
    const { text, report, largest, packets } = bands(body!);
    expect(largest).toBeLessThanOrEqual(limit);
    expect(text).toBe(`${message}\n`);
    expect(packets.every((packet) => !packet.includes('\ufffd'))).toBe(true);
    expect(linesOf(report)).toHaveLength(3001);
  });

  test('a reason is cut where it would not fit beside a very long ref', () => {
    const ref = `refs/heads/${'r'.repeat(65_423)}`;
    const body = renderRefusedPush({
      capabilities: new Set(['report-status']),
      commands: [{ oldId: id, newId: id, ref }],
      messages: [],
      reasons: new Map([[ref, 'é'.repeat(500)]]),
    });
    expect(linesOf(body!)[1]).toMatch(/ é{30,40}\n$/);
  });
});
