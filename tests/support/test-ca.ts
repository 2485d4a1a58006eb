// The certificate authority of the pretend internet, with its root in a file: real TLS servers on loopback present its
// certificates.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePretendCa } from '../../src/prove/internet/pretend-ca.ts';
import { afterThisFile } from './after-this-file.ts';

export interface TestCa {
  /** PEM file of the root, for `upstream.ca`. */
  readonly path: string;
  /** Valid for `days` days, 2 by default; a negative number: expired. */
  issue(names: readonly string[], days?: number): { readonly key: string; readonly cert: string };
}

export function makeTestCa(): TestCa {
  const ca = makePretendCa();
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-ca-'));
  afterThisFile(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'ca.pem');
  writeFileSync(path, ca.certificate);
  return {
    path,
    issue([name, ...others], days) {
      if (name === undefined) throw new Error('a certificate needs a name');
      return ca.issue([name, ...others], days);
    },
  };
}
