// A request for tokens as clients write it: a form (RFC 6749 section 6) or JSON with the same names. Reads names and texts
// and nothing else; what it cannot read it does not guess.
import type { HeaderList } from '../../../path/exchange/header-list.ts';

/** Members that are text, each once. */
export type TokenRequest = ReadonlyMap<string, string>;

/** Null: not understood. An empty body asks for nothing, and is understood. */
export function tokenRequestIn(body: Buffer, headers: HeaderList): TokenRequest | null {
  if (body.length === 0) return new Map();
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') return null;
  const type = (headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  const text = body.toString('utf8');
  if (type === 'application/json' || type.endsWith('+json')) return fromJson(text);
  if (type === 'application/x-www-form-urlencoded') return fromForm(text);
  return null;
}

function fromJson(text: string): TokenRequest | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const members = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return new Map(members);
}

/** A name that comes twice could mean either (RFC 6749 section 3.2 forbids it). */
function fromForm(text: string): TokenRequest | null {
  const pairs = [...new URLSearchParams(text)];
  const members = new Map(pairs);
  return members.size === pairs.length ? members : null;
}
