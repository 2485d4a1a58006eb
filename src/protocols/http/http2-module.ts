// Node's HTTP/2, loaded with the first upstream that speaks it: a start need not wait for it.

let loaded: typeof import('node:http2') | null = null;

export function http2(): typeof import('node:http2') {
  loaded ??= process.getBuiltinModule('node:http2');
  return loaded;
}
