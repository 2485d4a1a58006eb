// Turns any value into plain data that is safe to print: auth fields dropped at any depth, bytes replaced by their
// count, secrets by their names, texts masked. Never throws and never runs on for ever: a log line must not be able
// to bring the gateway down.
import { maskText, namesSecret } from '../mask-text.ts';

const redacted = '***';
const maxDepth = 8;
const maxItems = 100;

export function redact(value: unknown): unknown {
  return clean(value, 0, new Set());
}

function clean(value: unknown, depth: number, above: Set<object>): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'symbol' || typeof value === 'function') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (above.has(value)) return '[circular]';
  if (depth > maxDepth) return '[too deep]';
  above.add(value);
  try {
    return cleanObject(value, depth, above);
  } catch {
    // A getter or toJSON that throws.
    return '[unprintable]';
  } finally {
    above.delete(value);
  }
}

function cleanObject(value: object, depth: number, above: Set<object>): unknown {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL || value instanceof RegExp) return maskText(String(value));
  if (value instanceof URLSearchParams) return maskText(`?${value}`);
  if (value instanceof Error) return cleanError(value, depth, above);
  // A Secret, whatever module it comes from: its own text is its name, and nothing else of it is looked at.
  if (value.constructor?.name === 'Secret') return maskText(String(value));
  if (Array.isArray(value)) return cleanList(value, depth, above);
  if (value instanceof Set) return cleanList([...value], depth, above);
  if (value instanceof Map) return cleanEntries([...value], depth, above);
  if ('toJSON' in value && typeof value.toJSON === 'function') return clean(value.toJSON(), depth + 1, above);
  const pairs = parallelFields(value);
  if (pairs !== null) return cleanEntries(pairs, depth, above);
  return cleanRecord(value, depth, above);
}

function cleanRecord(value: object, depth: number, above: Set<object>): unknown {
  const entries = Object.entries(value);
  // { name: 'authorization', value: '…' }: a field spelled out.
  const label = 'name' in value ? value.name : 'key' in value ? value.key : 'header' in value ? value.header : null;
  const hidesValue = typeof label === 'string' && namesSecret(label);
  return cleanEntries(
    hidesValue ? entries.map(([k, v]) => [k, /^values?$/.test(k) ? redacted : v]) : entries,
    depth,
    above,
  );
}

function cleanEntries(entries: readonly (readonly unknown[])[], depth: number, above: Set<object>): unknown {
  const out: Record<string, unknown> = {};
  for (const [key, item] of entries.slice(0, maxItems)) {
    const name = typeof key === 'string' ? key : String(clean(key, depth + 1, above));
    // defineProperty: a field called __proto__ must stay a field.
    Object.defineProperty(out, maskText(name), {
      value: namesSecret(name) && holdsText(item) ? redacted : clean(item, depth + 1, above),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  if (entries.length > maxItems) out['…'] = `${entries.length - maxItems} more`;
  return out;
}

/** In a list the name of an auth field makes the next item its value: ['authorization', 'Bearer …', …]. */
function cleanList(list: readonly unknown[], depth: number, above: Set<object>): unknown[] {
  const out: unknown[] = [];
  for (let i = 0; i < list.length && i < maxItems; i++) {
    const before = i === 0 ? null : list[i - 1];
    const isValue = nameOf(before) !== null && namesSecret(nameOf(before)!);
    out.push(isValue && holdsText(list[i]) ? redacted : clean(list[i], depth + 1, above));
  }
  if (list.length > maxItems) out.push(`… ${list.length - maxItems} more`);
  return out;
}

/** Raw header lists come as text or as bytes. */
function nameOf(item: unknown): string | null {
  if (typeof item === 'string') return item;
  return Buffer.isBuffer(item) && item.length < 128 ? item.toString('latin1') : null;
}

/** Numbers and flags under such names (max_tokens, has_token) say nothing. */
function holdsText(item: unknown): boolean {
  return typeof item === 'string' || (typeof item === 'object' && item !== null);
}

/** A header list kept as parallel arrays: names here, values there. */
function parallelFields(value: object): [unknown, unknown][] | null {
  if (!('values' in value) || !Array.isArray(value.values)) return null;
  const { values } = value;
  const names = 'names' in value ? value.names : 'keys' in value ? value.keys : null;
  if (!Array.isArray(names) || names.length !== values.length) return null;
  return names.map((name: unknown, i) => [name, values[i] as unknown]);
}

function cleanError(error: Error, depth: number, above: Set<object>): unknown {
  const out: Record<string, unknown> = {
    type: maskText(error.name),
    message: maskText(error.message),
    stack: maskText(error.stack ?? ''),
  };
  for (const [key, item] of Object.entries(error)) {
    if (key in out || key === 'cause' || key === 'name') continue;
    out[key] = namesSecret(key) && holdsText(item) ? redacted : clean(item, depth + 1, above);
  }
  if (error instanceof AggregateError) out.errors = cleanList(error.errors, depth, above);
  if (error.cause !== undefined) out.cause = clean(error.cause, depth + 1, above);
  return out;
}
