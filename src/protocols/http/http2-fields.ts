// Between the header objects of node:http2 and plain parallel arrays. For HTTP/2 to upstreams.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';

interface Fields {
  readonly names: string[];
  readonly keys: string[];
  readonly values: string[];
}

/** Pseudo-headers left out; a repeated field becomes several. */
export function fieldsOfHttp2(headers: IncomingHttpHeaders): Fields {
  const names: string[] = [];
  const values: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      names.push(name);
      values.push(one);
    }
  }
  return { names, keys: [...names], values };
}

export function toHttp2(fields: Fields): OutgoingHttpHeaders {
  // No prototype: a field may be named `constructor` or `__proto__`.
  const out: OutgoingHttpHeaders = Object.create(null);
  for (let i = 0; i < fields.keys.length; i++) {
    const key = fields.keys[i]!;
    const before = out[key];
    const value = fields.values[i]!;
    out[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [String(before)]), value];
  }
  return out;
}
