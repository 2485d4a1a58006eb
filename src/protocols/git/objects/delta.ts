// One object written as a change to another: copies from the base and literal bytes. Strict, because a delta that
// two readers apply differently is two objects in one: every instruction must fit, and all must be used up.
import { GitWireError } from '../git-wire-error.ts';
import { WorkBudget } from './work-budget.ts';

/** Git refuses anything shorter: two sizes and one instruction with its byte. */
const MIN_DELTA_BYTES = 4;
const DEFAULT_COPY_BYTES = 0x10000;
/** What an instruction costs however little it makes, and after how many of them that is charged. */
const INSTRUCTION_BYTES = 24;
const INSTRUCTIONS = 4096;

/** What it will make, so that it can be charged for before it is made. */
export function deltaResultBytes(delta: Buffer): number {
  return readSizes(delta).result;
}

export async function applyDelta(
  base: Buffer,
  delta: Buffer,
  maxBytes: number,
  budget = new WorkBudget(),
): Promise<Buffer> {
  if (delta.length < MIN_DELTA_BYTES) throw malformed('is too short to be one');
  const sizes = readSizes(delta);
  if (sizes.base !== base.length) throw malformed('was made for a base of another size');
  if (sizes.result > maxBytes) {
    throw new GitWireError('too-large', `a delta that makes an object of more than ${maxBytes} bytes`);
  }
  const result = Buffer.allocUnsafe(sizes.result);
  let at = sizes.end;
  let filled = 0;
  for (let count = 1; at < delta.length; count++) {
    if (count % INSTRUCTIONS === 0) {
      budget.spend(INSTRUCTIONS * INSTRUCTION_BYTES);
      if (budget.isTurnDue) await budget.turn();
    }
    const instruction = delta[at++] as number;
    if (instruction === 0) throw malformed('has an instruction that is reserved');
    if ((instruction & 0x80) === 0) {
      if (at + instruction > delta.length) throw malformed('ends inside its literal bytes');
      if (filled + instruction > result.length) throw malformed('makes more than it announces');
      delta.copy(result, filled, at, at + instruction);
      at += instruction;
      filled += instruction;
      continue;
    }
    let offset = 0;
    let size = 0;
    for (let bit = 0; bit < 7; bit++) {
      if ((instruction & (1 << bit)) === 0) continue;
      if (at >= delta.length) throw malformed('ends inside an instruction');
      const byte = delta[at++] as number;
      // Multiplied, not shifted: the fourth byte of the offset would make a shifted number negative.
      if (bit < 4) offset += byte * 2 ** (8 * bit);
      else size += byte << (8 * (bit - 4));
    }
    if (size === 0) size = DEFAULT_COPY_BYTES;
    if (offset + size > base.length) throw malformed('copies from beyond the end of its base');
    if (filled + size > result.length) throw malformed('makes more than it announces');
    base.copy(result, filled, offset, offset + size);
    filled += size;
  }
  if (filled !== result.length) throw malformed('makes less than it announces');
  return result;
}

function readSizes(delta: Buffer): { base: number; result: number; end: number } {
  let at = 0;
  const readSize = (): number => {
    let size = 0;
    for (let scale = 1; ; scale *= 128) {
      if (at >= delta.length) throw malformed('ends inside its sizes');
      const byte = delta[at++] as number;
      size += (byte & 0x7f) * scale;
      if (size > Number.MAX_SAFE_INTEGER || scale > Number.MAX_SAFE_INTEGER) throw malformed('has a size beyond 2^53');
      if ((byte & 0x80) === 0) return size;
    }
  };
  const base = readSize();
  const result = readSize();
  return { base, result, end: at };
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `a delta in the pack ${what}`);
}
