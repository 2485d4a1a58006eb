// The certificate database that we write, read by who is to believe it: Chromium, and SQLite's own check of its form.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listenOnLoopback } from '../../src/prove/internet/listen-on-loopback.ts';
import { nssDatabase } from '../../src/sandbox/trust/nss-database.ts';
import { certificatesIn } from '../../src/sandbox/trust/trust-bundle.ts';
import { afterThisFile } from '../support/after-this-file.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-nss-'));
afterThisFile(() => rmSync(folder, { recursive: true, force: true }));

function homeWith(name: string, caPath: string): string {
  const home = join(folder, name);
  const [der] = certificatesIn(readFileSync(caPath, 'latin1'));
  mkdirSync(join(home, '.pki/nssdb'), { recursive: true });
  writeFileSync(join(home, '.pki/nssdb/cert9.db'), nssDatabase(der!, 'a test'));
  return home;
}

test("Chromium believes the CA in the home's database and none besides, also the second time", async () => {
  const ca = makeTestCa();
  const far = await listenOnLoopback(createServer(ca.issue(['localhost']), (_, response) => response.end('pong')));
  const open = async (home: string): Promise<string> => {
    const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--dump-dom'];
    const url = `https://localhost:${far.address.split(':').at(-1)}/`;
    const env = { HOME: home, PATH: process.env.PATH ?? '' };
    return (await runClient('chromium', [...args, url], { env, timeoutMs: 60_000 })).stdout;
  };
  try {
    const ours = homeWith('ours', ca.path);
    expect(await open(ours)).toContain('pong');
    expect(await open(ours)).toContain('pong');
    expect(await open(homeWith('foreign', makeTestCa().path))).not.toContain('pong');
  } finally {
    await far.close();
  }
});

test('SQLite finds it whole: both objects, by number and by subject', () => {
  const file = join(homeWith('sqlite', makeTestCa().path), '.pki/nssdb/cert9.db');
  const code = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute('pragma integrity_check').fetchone()[0])
print(db.execute('select count(*) from nssPublic where id in (1, 2)').fetchone()[0])
print(db.execute('select id from nssPublic where a101 is not null and a3 = ?', (b'a test',)).fetchall())`;
  const said = execFileSync('/usr/bin/python3', ['-c', code, file], { encoding: 'utf8' });
  expect(said.trim().split('\n')).toEqual(['ok', '2', '[(1,)]']);
});
