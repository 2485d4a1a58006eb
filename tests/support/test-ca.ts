// A certificate authority for the far side of the internet: real TLS servers on loopback present its certificates.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from './after-this-file.ts';

export interface TestCa {
  /** PEM file of the root, for `upstream.ca`. */
  readonly path: string;
  /** Valid for `days` days, 2 by default; a negative number: expired. */
  issue(names: readonly string[], days?: number): { readonly key: string; readonly cert: string };
}

export function makeTestCa(): TestCa {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-ca-'));
  afterThisFile(() => rmSync(directory, { recursive: true, force: true }));
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '3', '-subj', '/CN=far side');
  let issued = 0;
  return {
    path: join(directory, 'ca.pem'),
    issue(names, days = 2) {
      const stem = `leaf-${++issued}`;
      writeFileSync(join(directory, `${stem}.ext`), `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}\n`);
      openssl('req', '-new', ...newKey, '-keyout', `${stem}.key`, '-out', `${stem}.csr`, '-subj', '/CN=leaf');
      openssl(
        'x509',
        '-req',
        '-in',
        `${stem}.csr`,
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        String(days),
        '-extfile',
        `${stem}.ext`,
        '-out',
        `${stem}.pem`,
      );
      return {
        key: readFileSync(join(directory, `${stem}.key`), 'utf8'),
        cert: readFileSync(join(directory, `${stem}.pem`), 'utf8'),
      };
    },
  };
}
