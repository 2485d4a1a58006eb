// Names that lead to a far side on loopback as if they were public: through the look-up and the classification of addresses that
// every unknown name takes, not by a pin, which is the operator's own word. No question for them leaves this machine, and no
// connection. Of this process, or of one that is started with the file in NODE_OPTIONS.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FarNames {
  /** A file for `node --require`. */
  readonly preload: string;
  /** Puts it into force in this process. */
  applyHere(): void;
  remove(): void;
}

/** `address`: `127.0.0.1:PORT`. */
export function makeFarNames(names: readonly string[], address: string): FarNames {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-far-'));
  const preload = join(folder, 'far-names.cjs');
  writeFileSync(preload, preloadText(names, Number(address.split(':')[1])));
  let undo = (): void => {};
  return {
    preload,
    applyHere() {
      undo = (createRequire(import.meta.url)(preload) as { undo: () => void }).undo;
    },
    remove() {
      undo();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// 3ffe::/16 was given back (RFC 3701): nobody has it, and no list of special addresses names it.
function preloadText(names: readonly string[], port: number): string {
  return `
const dns = require('node:dns/promises');
const net = require('node:net');
const { syncBuiltinESMExports } = require('node:module');
const names = new Set(${JSON.stringify(names)});
const { lookup } = dns;
const { connect } = net;
const toFarSide = { port: ${port}, lookup: (_host, _options, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]) };
dns.lookup = (host, ...rest) =>
  names.has(host) ? Promise.resolve([{ address: '3ffe::7', family: 6 }]) : lookup(host, ...rest);
net.connect = (options, ...rest) =>
  names.has(options?.host) ? connect({ ...options, ...toFarSide }, ...rest) : connect(options, ...rest);
syncBuiltinESMExports();
exports.undo = () => {
  Object.assign(dns, { lookup });
  Object.assign(net, { connect });
  syncBuiltinESMExports();
};
`;
}
