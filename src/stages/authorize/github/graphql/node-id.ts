// What a node id says about itself. It is the sandbox's word, so it is never believed about a repository: it only tells
// accounts from the rest, and must agree with what GitHub says about the node.

/** Accounts and teams, by the prefix of the current form and by the type of the legacy one. */
const accountPrefixes = new Set(['U', 'O', 'BOT', 'T', 'M', 'EUA', 'A', 'E']);
const personPrefixes = new Set(['U', 'T', 'M']);
const legacyAccount = /^0\d+:(User|Organization|Bot|Team|Mannequin|App|Enterprise)\d+$/;
const legacyPersons = new Set(['User', 'Team', 'Mannequin']);

// Any other character would be another id to GitHub than the one that was looked up.
const currentForm = /^([A-Z][A-Za-z]{0,15})_([A-Za-z0-9_-]{1,200})$/;
const legacyForm = /^[A-Za-z0-9+/]{4,400}={0,2}$/;

export interface NodeId {
  /** An account of any kind. */
  readonly isAccount: boolean;
  /** A person, or a team of them. */
  readonly isPerson: boolean;
  /** The number of the repository that the id claims to be in; null: it makes no such claim. */
  readonly repositoryNumber: number | null;
}

/** Null: not the id of a node in any form that is known. */
export function readNodeId(id: string): NodeId | null {
  const current = currentForm.exec(id);
  if (current !== null) {
    const isAccount = accountPrefixes.has(current[1]!);
    const numbers = readNumbers(Buffer.from(current[2]!, 'base64url'));
    const inRepository = !isAccount && numbers !== null && numbers[0] === 0 && numbers.length > 1;
    const isPerson = personPrefixes.has(current[1]!);
    return { isAccount, isPerson, repositoryNumber: inRepository ? numbers[1]! : null };
  }
  if (!legacyForm.test(id)) return null;
  const text = Buffer.from(id, 'base64').toString('latin1');
  const account = legacyAccount.exec(text);
  return { isAccount: account !== null, isPerson: legacyPersons.has(account?.[1] ?? ''), repositoryNumber: null };
}

/** The unsigned integers at the front of a MessagePack array; null when it is none. */
function readNumbers(bytes: Buffer): number[] | null {
  const head = bytes[0];
  // fixarray of at most 15.
  if (head === undefined || head < 0x90 || head > 0x9f) return null;
  const numbers: number[] = [];
  let at = 1;
  while (numbers.length < head - 0x90) {
    const tag = bytes[at];
    if (tag === undefined) return null;
    at += 1;
    if (tag < 0x80) {
      numbers.push(tag);
      continue;
    }
    // uint 8, 16, 32, 64; anything else (the name of a ref is a string) ends the numbers.
    const size = tag >= 0xcc && tag <= 0xcf ? 1 << (tag - 0xcc) : 0;
    if (size === 0) break;
    if (at + size > bytes.length) return null;
    numbers.push(size === 8 ? Number(bytes.readBigUInt64BE(at)) : bytes.readUIntBE(at, size));
    at += size;
  }
  return numbers;
}
